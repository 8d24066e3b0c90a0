//! What is known of a release before anything of it is sent: that the gate lets it in, and that it breaks no promise of
//! the version before it.
//!
//! Pure. Whether the version is taken already, and who may publish it, is the registry's to say.

use super::compatible::verify;
use super::{Compared, Neighbour, Report, require_same_name};
use crate::component;
use crate::error::Result;

/// A release that may be sent: only [`publishable`] makes it.
#[derive(Debug)]
pub struct Publishable {
    report: Report,
    compared: Option<Compared>,
}

impl Publishable {
    /// What its bytes say.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// What it changes, when there is a version before it.
    #[must_use]
    pub fn compared(&self) -> Option<&Compared> {
        self.compared.as_ref()
    }
}

/// Checks a release against the one before it, which [`super::compatible::predecessor`] chooses.
pub fn publishable(bytes: &[u8], before: Option<&[u8]>, neighbours: &[Neighbour]) -> Result<Publishable> {
    // The report is made also of what the gate refuses; this is not.
    component::inspect(bytes)?;
    let report = Report::of(bytes, neighbours)?;
    let Some(before) = before else { return Ok(Publishable { report, compared: None }) };
    let before = Report::of(before, &[])?;
    require_same_name(&before, &report)?;
    verify(&before.manifest, &report.manifest)?;
    let compared = Some(Compared::between(&before, &report));
    Ok(Publishable { report, compared })
}
