//! Which registry a name means, by the settings of a home.

use std::path::Path;

use zeroize::Zeroizing;

use super::{Directory, Location, Registry, Remote, Transport};
use crate::config::Config;
use crate::egress::{Outside, Own, RegistryWay};
use crate::error::{Error, ErrorKind, Result};
use crate::secrets::{SecretKind, Vault};

/// The name of the registry that a home has without any settings, and of its folder.
const LOCAL: &str = "local";
const FOLDER: &str = "registry";

/// Opens the registry of this name, or the one that is meant where none is named.
pub fn open(name: Option<&str>, config: &Config, home: &Path, vault: &Vault, outside: &Outside) -> Result<Registry> {
    let known = &config.registries.by_name;
    let meant = name.or(config.registries.default.as_deref());
    let (name, settings) = match (meant, known.len()) {
        (Some(name), _) if known.contains_key(name) => (name, known.get(name)),
        (None | Some(LOCAL), 0) => (LOCAL, None),
        (None, 1) => known.iter().next().map_or((LOCAL, None), |(name, settings)| (name.as_str(), Some(settings))),
        (Some(name), _) => {
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            let hint = match names.as_slice() {
                [] => format!("add `[registries.{name}]` with a `location` to `remit.toml`"),
                names => format!("there are `{}`", names.join("`, `")),
            };
            return Err(Error::new(ErrorKind::Config, format!("there is no registry `{name}`")).hint(hint));
        }
        (None, _) => {
            return Err(Error::new(ErrorKind::Config, "there are several registries, and none was named")
                .hint("pass `--registry NAME`, or set `registries.default` in `remit.toml`"));
        }
    };
    let Some(settings) = settings else {
        return Ok(Registry::new(LOCAL, Transport::Directory(Directory::create(&home.join(FOLDER))?)));
    };
    let location = settings.location.parse::<Location>();
    let transport = match location.map_err(|error| Error::new(ErrorKind::Config, error.to_string()))? {
        Location::Directory(root) => Transport::Directory(Directory::open(&root)?),
        Location::Http(url) => {
            let token = settings.token.as_deref().map(|secret| token(secret, vault)).transpose()?;
            let way = RegistryWay::configured(name, &url, token, Own::configured(config, outside)?, outside)?;
            Transport::Remote(Remote::new(way, home.to_owned()))
        }
    };
    Ok(Registry::new(name, transport))
}

fn token(secret: &str, vault: &Vault) -> Result<Zeroizing<String>> {
    let value = vault.read(secret, SecretKind::Value)?.ok_or_else(|| {
        Error::new(ErrorKind::SecretUnset, format!("the token of the registry, `{secret}`, is not set"))
            .hint(format!("remit secret set {secret}"))
    })?;
    let text = std::str::from_utf8(&value).map_err(|_| {
        Error::new(ErrorKind::SecretInvalid, format!("the token of the registry, `{secret}`, is no text"))
    })?;
    Ok(Zeroizing::new(text.to_owned()))
}
