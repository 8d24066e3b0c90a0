//! What the operator excepted from the address and certificate rules for one capability, read from `remit.toml`
//! once. Without an entry there, nothing is excepted.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

use super::{Network, Target};
use crate::config::HttpExceptions;
use crate::error::{Error, ErrorKind, Result};
use crate::policy::HostPattern;

/// The exceptions of one capability, ready to use.
#[derive(Clone, Debug)]
pub struct Exceptions {
    private: Vec<Network>,
    connect: BTreeMap<(String, u16), SocketAddr>,
    tls: Arc<ClientConfig>,
}

impl Exceptions {
    /// No exceptions: public addresses, and the certificate authorities of the web.
    pub fn none() -> Result<Self> {
        Ok(Self { private: Vec::new(), connect: BTreeMap::new(), tls: tls(&[])? })
    }

    /// Reads the exceptions of `capability`, and the files they name.
    pub fn read(capability: &str, config: &HttpExceptions) -> Result<Self> {
        let wrong = |key: &str, text: &str, why: &str| {
            let message = format!("`capability.\"{capability}\".http.{key}` has `{text}`: {why}");
            Error::new(ErrorKind::Config, message)
        };
        let mut private = Vec::new();
        for text in &config.private {
            private.push(
                text.parse().map_err(|why: super::InvalidNetwork| wrong("private", text, &why.to_string()))?,
            );
        }
        let mut connect = BTreeMap::new();
        for (text, address) in &config.connect {
            let host: HostPattern =
                text.parse().map_err(|why: crate::policy::InvalidPattern| wrong("connect", text, &why.0))?;
            if host.is_wildcard() {
                return Err(wrong("connect", text, "one host stands here, without `*`"));
            }
            connect.insert((host.name().to_owned(), host.port()), *address);
        }
        let mut authorities = Vec::new();
        for path in &config.ca {
            authorities.extend(read_pem(path)?);
        }
        Ok(Self { private, connect, tls: tls(&authorities)? })
    }

    /// Whether an address that is not public may be dialled nevertheless.
    pub(super) fn allow_private(&self, address: IpAddr) -> bool {
        self.private.iter().any(|network| network.contains(address))
    }

    /// Where to connect instead of asking DNS.
    pub(super) fn address_of(&self, target: &Target) -> Option<SocketAddr> {
        self.connect.get(&(target.host().to_owned(), target.port())).copied()
    }

    /// How TLS is spoken and which authorities are believed.
    pub(super) fn tls(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.tls)
    }

    #[cfg(test)]
    pub(super) fn for_test(
        private: &[&str],
        connect: &[(&str, u16, SocketAddr)],
        authority: CertificateDer<'static>,
    ) -> Self {
        Self {
            private: private.iter().map(|text| text.parse().unwrap()).collect(),
            connect: connect.iter().map(|(host, port, to)| (((*host).to_owned(), *port), *to)).collect(),
            tls: tls(&[authority]).unwrap(),
        }
    }
}

fn read_pem(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let text = std::fs::read(path).map_err(|error| Error::file(path, &error))?;
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&text).flatten().collect();
    if certificates.is_empty() {
        let message = format!("`{}` holds no certificate", path.display());
        return Err(Error::new(ErrorKind::Config, message).hint("name a file with `-----BEGIN CERTIFICATE-----`"));
    }
    Ok(certificates)
}

/// The web's authorities, compiled in, and `authorities`: no file or variable of the system adds to them.
fn tls(authorities: &[CertificateDer<'static>]) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for authority in authorities {
        roots.add(authority.clone()).map_err(|why| {
            Error::new(ErrorKind::Config, "a certificate in `http.ca` cannot be an authority").detail(why)
        })?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|why| Error::internal("the TLS provider has no usable protocol version").detail(why))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_an_exception_is_named_with_its_key() {
        let address: SocketAddr = "127.0.0.1:8443".parse().unwrap();
        let private = |text: &str| HttpExceptions { private: vec![text.to_owned()], ..HttpExceptions::default() };
        let connect = |text: &str| HttpExceptions {
            connect: BTreeMap::from([(text.to_owned(), address)]),
            ..HttpExceptions::default()
        };
        for (config, words) in [
            (private("10.1.0.1/16"), "http.private` has `10.1.0.1/16`"),
            (private("example.com"), "http.private` has `example.com`"),
            (connect("https://api.example.com"), "http.connect` has `https://api.example.com`"),
            (connect("*.example.com"), "without `*`"),
        ] {
            let error = Exceptions::read("acme/weather", &config).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Config);
            assert!(error.message.contains(words), "{}", error.message);
        }
        let missing = HttpExceptions { ca: vec!["no-such-file.pem".into()], ..HttpExceptions::default() };
        assert!(Exceptions::read("acme/weather", &missing).is_err());
    }

    #[test]
    fn authorities_are_read_from_pem_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        let config = HttpExceptions { ca: vec![path.clone()], ..HttpExceptions::default() };
        std::fs::write(&path, "no certificate").unwrap();
        assert!(Exceptions::read("acme/weather", &config).unwrap_err().message.contains("holds no certificate"));
        std::fs::write(&path, remit_upstream::script::authority_pem()).unwrap();
        assert!(Exceptions::read("acme/weather", &config).is_ok());
    }
}
