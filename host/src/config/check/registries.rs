//! What types cannot say about `[registries]`.

use super::super::RegistriesConfig;
use super::{InvalidValue, exceptions, is_secret_name};
use crate::manifest::check_name;
use crate::registries::Location;

/// Checks every registry, and that the default is one of them.
pub(super) fn check(registries: &RegistriesConfig) -> Result<(), InvalidValue> {
    for (name, settings) in &registries.by_name {
        if let Some(problem) = check_name(name) {
            let message = format!("`registries.{name}` is no name of a registry: {problem}");
            return Err(InvalidValue::new(&["registries", name], message));
        }
        if let Err(error) = settings.location.parse::<Location>() {
            return Err(InvalidValue::new(&["registries", name, "location"], error.to_string())
                .hint("\"dir:/srv/registry\", \"https://registry.example.com\" or \"http://127.0.0.1:7071\""));
        }
        if let Some(token) = settings.token.as_ref().filter(|token| !is_secret_name(token)) {
            let message = format!("`{token}` is no secret's name");
            return Err(InvalidValue::new(&["registries", name, "token"], message)
                .hint("store it first: remit secret set NAME"));
        }
        exceptions(&["registries", name, "http"], &settings.http)?;
    }
    if let Some(default) = registries.default.as_ref().filter(|name| !registries.by_name.contains_key(*name)) {
        let message = format!("`registries.default`: there is no registry `{default}`");
        return Err(InvalidValue::new(&["registries", "default"], message).hint("write [registries.NAME]"));
    }
    Ok(())
}
