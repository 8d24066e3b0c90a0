//! What questions and answers weigh where they cross between guest and host.

use super::question::said_size;
use crate::runtime::ask::{Answer, Decision, NamedQuestion, Question};

/// Bytes of a question.
pub(super) fn question_size(asked: &NamedQuestion) -> usize {
    asked.name.len()
        + match &asked.question {
            Question::Form(form) => form.message.len() + form.schema.len(),
            Question::Link(link) => link.message.len() + link.url.len(),
            Question::Sample(sample) => {
                sample.turns.iter().map(|turn| said_size(&turn.said)).sum::<usize>()
                    + sample.system.as_ref().map_or(0, String::len)
                    + sample.stop.iter().map(String::len).sum::<usize>()
            }
            Question::Roots => 0,
        }
}

/// Bytes of an answer.
pub(super) fn answer_size(answer: &Answer) -> usize {
    match answer {
        Answer::Form(Decision::Accepted(filled)) | Answer::Link(Decision::Accepted(filled)) => filled.len(),
        Answer::Form(_) | Answer::Link(_) => 0,
        Answer::Sample(sampled) => {
            sampled.model.len()
                + sampled.stop_reason.as_ref().map_or(0, String::len)
                + sampled.said.iter().map(said_size).sum::<usize>()
        }
        Answer::Roots(roots) => {
            roots.iter().map(|root| root.uri.len() + root.name.as_ref().map_or(0, String::len)).sum()
        }
    }
}
