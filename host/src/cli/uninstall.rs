//! `remit uninstall`: remove an install with all that was decided about it, and on demand with all it kept.

use clap::Args;
use serde_json::json;

use super::{Context, figures};
use crate::error::Result;
use crate::registry::CapabilityName;

/// Remove an install with its grants and approvals
///
/// Stored secrets stay: they may serve others. Records of its calls stay too, and so do its documents and the
/// loops that it made, unless they are purged.
#[derive(Debug, Args)]
pub(super) struct UninstallArgs {
    /// `publisher/slug`
    name: CapabilityName,
    /// Remove its documents, their history and its loops as well; it need not be installed any more
    #[arg(long)]
    purge: bool,
}

/// Runs it.
pub(super) fn run(args: UninstallArgs, context: &Context) -> Result<()> {
    let UninstallArgs { name, purge } = args;
    let app = context.open()?;
    let admin = app.admin();
    let (digest, purged) = if purge {
        let (digest, purged, loops) = admin.purge(&name)?;
        (digest, Some((purged, loops)))
    } else {
        (Some(admin.uninstall(&name)?), None)
    };
    if let Some(digest) = &digest {
        app.forget(digest)?;
    }
    let digest = digest.map(|digest| digest.to_string());
    if context.output.is_json() {
        let purged = purged.map(
            |(purged, loops)| json!({ "documents": purged.documents, "bytes": purged.bytes, "loops": loops }),
        );
        return context.output.value(&json!({ "name": name.to_string(), "digest": digest, "purged": purged }));
    }
    if let Some(digest) = digest {
        context.output.note(&format!("uninstalled {name} ({digest})"));
    }
    match purged {
        Some((purged, loops)) => {
            context.output.note(&format!("removed {}", figures::kept(purged)));
            if loops > 0 {
                context.output.note(&format!("removed {}", figures::plural(loops, "loop")));
            }
        }
        None => {
            let kept = admin.kept(&name)?;
            if kept.documents > 0 {
                let kept = figures::kept(kept);
                let purge = format!("remit uninstall {name} --purge");
                context.output.note(&format!("what it kept is there still: {kept}\n\nhint: {purge}"));
            }
        }
    }
    Ok(())
}
