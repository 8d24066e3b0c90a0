//! Plays one case and says what was decided, and what else is wrong.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use remit::egress::{Method, Refusal, Template};
use remit::error::{Error, ErrorKind};
use remit_upstream::script::{Certificate, Reply};
use tokio::sync::Notify;

use super::capability::{self, Installed};
use super::case::{Case, Verdict, fields};
use super::effects::{Tally, check_allowed, check_denied};
use super::kinds::code;
use super::names::Names;
use super::plan::{Event, Plan};
use super::server;
use super::wires::{Wire, Wires};
use super::world::{Left, World};

/// How often a task gives way before it gives up on another.
const PATIENCE: usize = 100_000;

/// What came of one case.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Judged {
    /// The verdict and the code, as in `deny http/timeout`.
    pub(super) found: String,
    /// What is wrong beside it.
    pub(super) wrong: Vec<String>,
}

/// What a case expects, as [`Judged::found`] is written. An error when it says so in a way that is not known.
pub(super) fn expected(case: &Case) -> Result<String, String> {
    match (case.verdict, &case.error_kind) {
        (Verdict::Allow, None) => Ok("allow".to_owned()),
        (Verdict::Deny, Some(kind)) => match code(kind) {
            Some(code) => Ok(denied(code)),
            None => Err(format!("`error_kind` is not known: `{kind}`")),
        },
        (Verdict::Allow, Some(_)) => Err("it is allowed and has an `error_kind`".to_owned()),
        (Verdict::Deny, None) => Err("it is denied and has no `error_kind`".to_owned()),
    }
}

/// Whether what was found is what was expected. A server that insists on HTTP/2 is never spoken to, so only the
/// verdict of such a case is compared: its kind says how a client of HTTP/2 would have been stopped.
pub(super) fn agrees(case: &Case, expected: &str, found: &str) -> bool {
    let is_http2 = server::replies(case, false).is_ok_and(|replies| is_http2(&replies));
    if is_http2 { found.starts_with("deny ") == expected.starts_with("deny ") } else { found == expected }
}

/// Plays a case over `wire`. `scratch` is a folder for files that the host reads.
pub(super) fn judge(case: &Case, wire: Wire, scratch: &Path) -> Result<Judged, String> {
    let plan = Plan::of(case)?;
    if let Event::Imports(interfaces) = &plan.event {
        return Ok(imports(interfaces));
    }
    let installed = match Installed::of(case)? {
        Ok(installed) => installed,
        Err(error) => return Ok(refused_entry(case, &error)),
    };
    if case.group == "allow_entry" {
        return Ok(accepted_entry(case, &installed));
    }
    let authority = scratch.join("authority.pem");
    std::fs::write(&authority, remit_upstream::script::authority_pem()).map_err(|error| error.to_string())?;
    let scene = Scene { case, plan: &plan, installed: &installed, authority: &authority, wire };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(wire == Wire::Memory)
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(scene.play())
}

/// Everything that is known before the first byte.
struct Scene<'a> {
    case: &'a Case,
    plan: &'a Plan,
    installed: &'a Installed,
    authority: &'a Path,
    wire: Wire,
}

impl Scene<'_> {
    async fn play(&self) -> Result<Judged, String> {
        let template = match template(self.case)? {
            Ok(template) => template,
            // The contract's methods are an enum, so no guest can ask for another: there is no attempt to record.
            Err(refusal) => return Ok(Judged { found: denied(refusal.kind().code()), wrong: Vec::new() }),
        };
        let mut judged = match self.plan.event {
            Event::Revoked => self.revoked(template.clone()).await?,
            Event::AtOnce(calls) => self.at_once(template.clone(), calls).await?,
            Event::Nothing | Event::Imports(_) => self.in_turn(template.clone()).await?,
        };
        if let Some(injected) = server::injected(self.case)? {
            judged.wrong.extend(self.as_written(template.clone(), &injected).await?);
        }
        if self.wire == Wire::Tcp {
            judged.wrong.extend(self.foreign(template).await?);
        }
        Ok(judged)
    }

    fn world(&self, replies: Vec<Reply>) -> Result<World, String> {
        let wires = Wires::new(self.wire, replies).leading_to(self.plan.peer).leading_home(self.plan.is_own);
        World::new(self.installed, Names::new(self.plan.answers.clone()), wires, self.authority)
    }

    /// One call after the other. All but the last must be answered.
    async fn in_turn(&self, template: Template) -> Result<Judged, String> {
        let replies = server::replies(self.case, true)?;
        let is_http2 = is_http2(&replies);
        let world = self.world(replies)?;
        let granted = self.installed.granted();
        let mut wrong = Vec::new();
        for turn in 1..self.plan.calls {
            let left = world.call(&granted, template.clone()).await;
            if let Err(refusal) = left.result {
                wrong.push(format!("request {turn} was refused: {refusal}"));
            }
        }
        let before = Tally::of(&world);
        let left = world.call(&granted, template).await;
        let mut judged = self.effects(&world, before, &left);
        judged.wrong.extend(wrong);
        if is_http2 {
            let offered = world.wires.log.hellos().into_iter().flat_map(|hello| hello.protocols);
            let offered: Vec<_> = offered.collect();
            if offered != ["http/1.1"] {
                judged.wrong.push(format!("it offered the protocols {offered:?}"));
            }
        }
        Ok(judged)
    }

    /// One call is out, its grant is taken back, and another call is made. The first one ends as it began: what
    /// was decided for it is its own. The second is judged.
    async fn revoked(&self, template: Template) -> Result<Judged, String> {
        let word = Arc::new(Notify::new());
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec();
        let world = self.world(vec![Reply::Held(Arc::clone(&word), answer)])?;
        let granted = self.installed.granted();
        let first = world.call(&granted, template.clone());
        let second = async {
            for _ in 0..PATIENCE {
                if !world.wires.log.requests().is_empty() {
                    break;
                }
                tokio::task::yield_now().await;
            }
            let before = Tally::of(&world);
            let left = world.call(&self.installed.revoked(), template.clone()).await;
            let judged = self.effects(&world, before, &left);
            word.notify_one();
            judged
        };
        let (first, mut judged) = tokio::join!(first, second);
        if let Err(refusal) = first.result {
            judged.wrong.push(format!("the request in flight did not end: {refusal}"));
        }
        Ok(judged)
    }

    /// Many calls at once. Some must be answered, and all others be refused for one reason.
    async fn at_once(&self, template: Template, calls: usize) -> Result<Judged, String> {
        let world = self.world(server::replies(self.case, true)?)?;
        let granted = self.installed.granted();
        let lefts = join_all((0..calls).map(|_| world.call(&granted, template.clone()))).await;
        let answered = lefts.iter().filter(|left| left.result.is_ok()).count();
        let refused: Vec<_> = lefts.iter().filter(|left| left.result.is_err()).collect();
        let found = refused.first().map_or_else(|| "allow".to_owned(), |left| found(left));
        let mut wrong = Vec::new();
        if answered == 0 {
            wrong.push("none was answered".to_owned());
        }
        for left in &lefts {
            let outcomes: Vec<_> = left.records.iter().map(|record| record.outcome.as_str()).collect();
            let expected = left.result.as_ref().err().map_or("sent", |refusal| refusal.kind().code());
            if outcomes != [expected] || (left.result.is_err() && self::found(left) != found) {
                wrong.push(format!("one ended with {outcomes:?} beside others with `{found}`"));
            }
        }
        let Tally { looked_up, dialled, .. } = Tally::of(&world);
        if (looked_up, dialled) != (answered, answered) {
            wrong.push(format!("{answered} answers, {looked_up} look-ups, {dialled} connections"));
        }
        Ok(Judged { found, wrong })
    }

    /// A `Location` with bytes that no field value can carry, written to the wire as it is: whatever is made of
    /// it, what stands behind the first such byte goes nowhere.
    async fn as_written(&self, template: Template, injected: &str) -> Result<Vec<String>, String> {
        let world = self.world(server::replies(self.case, false)?)?;
        drop(world.call(&self.installed.granted(), template).await);
        let requests = world.wires.log.requests();
        let followed = requests.iter().skip(1).filter(|request| request.to_lowercase().contains(injected));
        Ok(followed.map(|request| format!("the injected `{injected}` was followed: {request}")).collect())
    }

    /// The same request to a server whose authority only the environment vouches for: it must be refused.
    async fn foreign(&self, template: Template) -> Result<Vec<String>, String> {
        let world = self.world(vec![Reply::Certificate(Certificate::Foreign)])?;
        let left = world.call(&self.installed.granted(), template).await;
        let found = found(&left);
        if found == denied(ErrorKind::HttpTlsFailed.code()) && world.wires.log.requests().is_empty() {
            return Ok(Vec::new());
        }
        Ok(vec![format!("a server that only the environment vouches for: {found}")])
    }

    fn effects(&self, world: &World, before: Tally, left: &Left) -> Judged {
        let wrong = match &left.result {
            Ok(answer) => check_allowed(self.case, world, before, left, answer),
            Err(refusal) => check_denied(self.plan, world, before, left, refusal),
        };
        Judged { found: found(left), wrong }
    }
}

/// What the guest sends. A method that is none of the contract's is a refusal.
fn template(case: &Case) -> Result<Result<Template, Refusal>, String> {
    let method = match case.request.method.as_deref().unwrap_or("GET").parse::<Method>() {
        Ok(method) => method,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let body = match (&case.request.body, case.request.body_bytes) {
        (Some(body), None) => Some(body.clone().into_bytes()),
        (None, Some(bytes)) => Some(vec![b'a'; bytes]),
        (None, None) => None,
        (Some(_), Some(_)) => return Err("`request` has both `body` and `body_bytes`".to_owned()),
    };
    Ok(Ok(Template {
        method,
        url: case.url_or_host.clone(),
        headers: fields(&case.request.headers)?
            .into_iter()
            .map(|(name, value)| (name, value.into_bytes()))
            .collect(),
        body,
        timeout: None::<Duration>,
    }))
}

/// Components that import another way out, each past the gate of build and install.
fn imports(interfaces: &[String]) -> Judged {
    let mut judged = Judged::default();
    for interface in interfaces {
        let component = remit_guests::importing(interface);
        let manifest = remit_guests::manifest("case").to_string();
        match remit::component::inspect(&remit_guests::with_manifest(component, manifest.as_bytes())) {
            Ok(_) => judged.found = "allow".to_owned(),
            Err(error) => {
                if !error.message.contains(interface.as_str()) {
                    judged.wrong.push(format!("the refusal does not name `{interface}`: {}", error.message));
                }
                if judged.found.is_empty() {
                    judged.found = denied(error.kind.code());
                }
            }
        }
    }
    judged
}

/// The gate refused the manifest. It must be for the entry, and policy must not grant what the gate refuses.
fn refused_entry(case: &Case, error: &Error) -> Judged {
    let mut judged = Judged { found: denied(error.kind.code()), wrong: Vec::new() };
    if !error.message.contains("http.allow") {
        judged.wrong.push(format!("the refusal is not about the allow-list: {}", error.message));
    }
    if capability::grants_all(case) {
        judged.wrong.push("policy would grant what the gate refuses".to_owned());
    }
    judged
}

/// The gate accepted the entry. It must be granted as it stands, and nothing with it.
fn accepted_entry(case: &Case, installed: &Installed) -> Judged {
    let granted = installed.granted();
    let allow: Vec<_> = granted.http().into_iter().flat_map(|http| &http.allow).cloned().collect();
    let declared: Vec<_> = case.allow_list.iter().filter_map(|entry| entry.parse().ok()).collect();
    let wrong = if allow == declared { Vec::new() } else { vec![format!("policy grants {allow:?}")] };
    Judged { found: "allow".to_owned(), wrong }
}

fn is_http2(replies: &[Reply]) -> bool {
    replies.iter().any(|reply| matches!(reply, Reply::Http2))
}

fn found(left: &Left) -> String {
    left.result.as_ref().err().map_or_else(|| "allow".to_owned(), |refusal| denied(refusal.kind().code()))
}

fn denied(code: &str) -> String {
    format!("deny {code}")
}
