//! What a registry refuses, in a folder and over HTTP alike, and what an installer refuses that a registry let through.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::component::{embed, read_manifest};
use crate::config::Config;
use crate::egress::{Outside, Own, RegistryWay};
use crate::mcp::Auth;
use crate::signing::{KnownKey, Owners, Release, SigningKey, WithdrawalKind};

/// A registry, the people that it knows, and somebody whom it does not.
struct World {
    folder: TempDir,
    directory: Directory,
    ann: SigningKey,
    ben: SigningKey,
    eve: SigningKey,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::create(&folder.path().join("registry")).unwrap();
        let key = || SigningKey::create(tempfile::tempdir().unwrap().path()).unwrap();
        let (ann, ben, eve) = (key(), key(), key());
        directory
            .change_owners(|owners| {
                owners.trust(known(&ann, "ann", &["acme"], false))?;
                owners.trust(known(&ben, "ben", &[], true))
            })
            .unwrap();
        Self { folder, directory, ann, ben, eve }
    }

    fn owners(&self) -> Owners {
        self.directory.owners().unwrap()
    }

    /// The folder itself, and the same folder behind HTTP.
    async fn both(&self) -> Vec<Registry> {
        let served = self.served(Auth::LoopbackWithoutToken).await;
        let folder = Registry::new("main", Transport::Directory(self.directory.clone()));
        vec![folder, self.client(served, None)]
    }

    async fn served(&self, auth: Auth) -> SocketAddr {
        let (ready, listening) = oneshot::channel();
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        tokio::spawn(serve(self.directory.clone(), address, auth, ready, CancellationToken::new()));
        listening.await.unwrap()
    }

    fn client(&self, address: SocketAddr, token: Option<&str>) -> Registry {
        client(address, token, self.folder.path())
    }

    /// Every file of the registry with its bytes, so that nothing can have changed unseen.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().join("registry")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push((path.clone(), std::fs::read(path).unwrap()));
                }
            }
        }
        found.sort();
        found
    }

    fn publish(&self, version: &str) -> Vec<u8> {
        let bytes = component(version, &[]);
        self.directory.submit(&statement(&bytes, &self.ann), &bytes).unwrap();
        self.directory.decide(&decision(&bytes, &self.ben)).unwrap();
        bytes
    }

    async fn resolved(&self, registry: &Registry, release: &str) -> std::result::Result<Vec<u8>, ErrorKind> {
        let resolved = resolve(registry, &release.parse().unwrap(), &self.owners(), &mut |_, _| {}).await;
        resolved.map(|resolved| resolved.bytes).map_err(|error| error.kind)
    }
}

fn client(address: SocketAddr, token: Option<&str>, home: &Path) -> Registry {
    let outside = Outside::system();
    let own = Own::configured(&Config::default(), &outside).unwrap();
    let token = token.map(|token| token.to_owned().into());
    let way = RegistryWay::configured("main", &format!("http://{address}"), token, own, &outside).unwrap();
    Registry::new("main", Transport::Remote(Remote::new(way, home.to_owned())))
}

fn known(key: &SigningKey, owner: &str, publishers: &[&str], reviewer: bool) -> KnownKey {
    let publishers = publishers.iter().map(|&name| name.to_owned()).collect();
    KnownKey { key: key.public(), owner: owner.to_owned(), publishers, reviewer, revoked_at: None }
}

fn component(version: &str, changes: &[(&str, Value)]) -> Vec<u8> {
    let bytes = wat::parse_str(
        r#"(component
            (core module $m (memory 1) (func (export "f")))
            (core instance $i (instantiate $m))
            (func $f (canon lift (core func $i "f")))
            (instance $tools (export "call" (func $f)))
            (export "remit:capability/tools@0.1.0" (instance $tools)))"#,
    );
    let mut manifest = json!({
        "publisher": "acme", "slug": "weather", "version": version, "title": "Weather", "description": "Forecasts.",
        "tools": [{
            "name": "get", "description": "The forecast.", "readOnly": true,
            "inputSchema": { "type": "object", "additionalProperties": false },
        }],
    });
    for (name, value) in changes {
        manifest[*name] = value.clone();
    }
    embed(&bytes.unwrap(), &serde_json::from_value(manifest).unwrap()).unwrap()
}

fn statement(bytes: &[u8], key: &SigningKey) -> Signed<Statement> {
    Signed::new(Statement::of(&read_manifest(bytes).unwrap(), Digest::of(bytes), 100), key).unwrap()
}

fn decision(bytes: &[u8], key: &SigningKey) -> Signed<Decision> {
    let release = statement_release(bytes);
    let decision =
        Decision { release, component_sha256: Digest::of(bytes), approved: true, reason: None, signed_at: 200 };
    Signed::new(decision, key).unwrap()
}

fn withdrawal(release: &str, kind: WithdrawalKind, key: &SigningKey) -> Signed<Withdrawal> {
    let said = Withdrawal { release: release.to_owned(), kind, reason: "it leaks".to_owned(), signed_at: 300 };
    Signed::new(said, key).unwrap()
}

fn statement_release(bytes: &[u8]) -> String {
    let manifest = read_manifest(bytes).unwrap();
    format!("{}/{}@{}", manifest.publisher, manifest.slug, manifest.version)
}

async fn submit(registry: &Registry, statement: &Signed<Statement>, bytes: &[u8]) -> std::result::Result<State, ErrorKind> {
    registry.submit(statement, bytes).await.map_err(|error| error.kind)
}

#[tokio::test]
async fn a_release_goes_from_its_publisher_by_a_reviewer_to_an_installer_by_either_way() {
    for way in 0..2 {
        let world = World::new();
        let registry = &world.both().await[way];
        let bytes = component("1.0.0", &[]);
        assert_eq!(submit(registry, &statement(&bytes, &world.ann), &bytes).await, Ok(State::InReview));
        assert_eq!(world.resolved(registry, "acme/weather@1.0.0").await, Err(ErrorKind::NotReviewed));
        assert_eq!(registry.decide(&decision(&bytes, &world.ben)).await.unwrap(), State::Published);
        assert_eq!(world.resolved(registry, "acme/weather@1.0.0").await, Ok(bytes.clone()));
        // Sent again, it is what it is.
        assert_eq!(submit(registry, &statement(&bytes, &world.ann), &bytes).await, Ok(State::Published));
        let yank = withdrawal("acme/weather@1.0.0", WithdrawalKind::Yank, &world.ann);
        assert_eq!(registry.withdraw(&yank).await.unwrap(), State::Yanked);
        assert_eq!(world.resolved(registry, "acme/weather@1.0.0").await, Err(ErrorKind::Yanked));
        let list = registry.list().await.unwrap();
        assert_eq!(list, [("acme/weather@1.0.0".parse().unwrap(), State::Yanked)]);
        assert_eq!(world.resolved(registry, "acme/weather@2.0.0").await, Err(ErrorKind::ReleaseNotFound));
    }
}

#[tokio::test]
async fn c_01_bytes_that_are_not_the_reviewed_ones_are_not_published() {
    let world = World::new();
    for registry in world.both().await {
        let (bytes, other) = (component("1.0.0", &[]), component("1.0.0", &[("title", json!("Other"))]));
        let before = world.files();
        let refused = submit(&registry, &statement(&bytes, &world.ann), &other).await;
        assert_eq!(refused, Err(ErrorKind::DigestMismatch));
        assert_eq!(world.files(), before);
    }
    // And when the registry itself changes them, the installer sees it.
    let bytes = world.publish("1.0.0");
    let stored = world.folder.path().join(format!("registry/components/sha256/{}.wasm", Digest::of(&bytes).hex()));
    let mut flipped = bytes.clone();
    flipped[40] ^= 1;
    std::fs::write(&stored, flipped).unwrap();
    for registry in world.both().await {
        assert_eq!(world.resolved(&registry, "acme/weather@1.0.0").await, Err(ErrorKind::DigestMismatch));
    }
}

#[tokio::test]
async fn c_03_a_link_in_the_registry_is_not_followed() {
    let world = World::new();
    let bytes = world.publish("1.0.0");
    let registry = world.folder.path().join("registry");
    let stored = registry.join(format!("components/sha256/{}.wasm", Digest::of(&bytes).hex()));
    let elsewhere = world.folder.path().join("elsewhere");
    std::fs::rename(&stored, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &stored).unwrap();
    for registry in world.both().await {
        assert!(world.resolved(&registry, "acme/weather@1.0.0").await.is_err());
    }
    let document = registry.join("releases/acme/weather/1.0.0/statement.json");
    std::fs::rename(&document, world.folder.path().join("statement")).unwrap();
    std::os::unix::fs::symlink(world.folder.path().join("statement"), &document).unwrap();
    assert_eq!(world.directory.state(&"acme/weather@1.0.0".parse().unwrap()).unwrap_err().kind, ErrorKind::Store);
}

#[tokio::test]
async fn c_06_c_29_a_version_is_published_once() {
    let world = World::new();
    let bytes = world.publish("1.0.0");
    for registry in world.both().await {
        let before = world.files();
        let other = component("1.0.0", &[("title", json!("Other"))]);
        assert_eq!(submit(&registry, &statement(&other, &world.ann), &other).await, Err(ErrorKind::ReleaseExists));
        let twin = component("1.0.0+b", &[]);
        assert_eq!(submit(&registry, &statement(&twin, &world.ann), &twin).await, Err(ErrorKind::VersionInexact));
        assert_eq!(world.files(), before);
        assert_eq!(world.resolved(&registry, "acme/weather@1.0.0").await, Ok(bytes.clone()));
    }
}

#[tokio::test]
async fn c_07_a_removed_version_stays_taken() {
    let world = World::new();
    let bytes = world.publish("1.0.0");
    let remove = withdrawal("acme/weather@1.0.0", WithdrawalKind::Remove, &world.ann);
    for registry in world.both().await {
        assert_eq!(registry.withdraw(&remove).await.unwrap(), State::Removed);
        for again in [bytes.clone(), component("1.0.0", &[("title", json!("Other"))])] {
            let refused = submit(&registry, &statement(&again, &world.ann), &again).await;
            assert_eq!(refused, Err(ErrorKind::ReleaseExists));
        }
        let no_bytes = registry.bytes(&Digest::of(&bytes), &mut |_, _| {}).await;
        assert!(no_bytes.is_err(), "its bytes are gone");
        assert_eq!(world.resolved(&registry, "acme/weather@1.0.0").await, Err(ErrorKind::Yanked));
    }
}

#[tokio::test]
async fn c_19_a_name_that_is_no_name_reaches_no_file() {
    let world = World::new();
    let outside = world.folder.path().join("x");
    std::fs::create_dir_all(outside.join("1.0.0")).unwrap();
    std::fs::write(outside.join("1.0.0/statement.json"), b"{}").unwrap();
    let long = "a".repeat(65);
    let names = ["CON/x", "con/x", "nul/x", "../x", "acme/..", "acme/-x", "acme/X", "acme/zürich", "acme/lpt1"];
    for registry in world.both().await {
        for name in names.iter().map(|&name| name.to_owned()).chain([format!("acme/{long}")]) {
            let before = world.files();
            let release = format!("{name}@1.0.0");
            let (publisher, slug) = name.split_once('/').unwrap();
            let said = Statement {
                publisher: publisher.to_owned(),
                slug: slug.to_owned(),
                ..statement(&component("1.0.0", &[]), &world.ann).open().unwrap().0.clone()
            };
            let bytes = component("1.0.0", &[]);
            assert!(submit(&registry, &Signed::new(said, &world.ann).unwrap(), &bytes).await.is_err(), "{name}");
            for kind in [WithdrawalKind::Yank, WithdrawalKind::Remove] {
                assert!(registry.withdraw(&withdrawal(&release, kind, &world.ben)).await.is_err(), "{name}");
            }
            let wanted = release.parse::<Exact>();
            if let Ok(wanted) = wanted {
                assert_eq!(registry.release(&wanted).await.unwrap_err().kind, ErrorKind::Usage, "{name}");
            }
            assert_eq!(world.files(), before, "{name}");
        }
    }
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
}

#[tokio::test]
async fn c_20_c_21_c_22_a_decision_is_a_second_persons_about_the_bytes_that_wait() {
    let world = World::new();
    let (bytes, other) = (component("1.0.0", &[]), component("1.0.0", &[("title", json!("Other"))]));
    for registry in world.both().await {
        submit(&registry, &statement(&bytes, &world.ann), &bytes).await.unwrap();
        world.directory.change_owners(|owners| owners.trust(known(&world.ann, "ann", &[], true))).unwrap();
        let decide = async |decision| registry.decide(&decision).await.map_err(|error| error.kind);
        assert_eq!(decide(decision(&bytes, &world.ann)).await, Err(ErrorKind::ReviewOwn));
        assert_eq!(decide(decision(&bytes, &world.eve)).await, Err(ErrorKind::ReviewRole));
        assert_eq!(decide(decision(&other, &world.ben)).await, Err(ErrorKind::ReviewOtherBytes));
        assert_eq!(world.resolved(&registry, "acme/weather@1.0.0").await, Err(ErrorKind::NotReviewed));
    }
    // The role ends: it counts in the step that writes.
    world.directory.change_owners(|owners| owners.revoke(world.ben.public(), 150)).unwrap();
    assert_eq!(world.directory.decide(&decision(&bytes, &world.ben)).unwrap_err().kind, ErrorKind::ReviewRole);
}

#[tokio::test]
async fn c_23_a_statement_of_whoever_may_not_say_it_brings_no_bytes() {
    let world = World::new();
    let bytes = component("1.0.0", &[]);
    for registry in world.both().await {
        let before = world.files();
        assert_eq!(submit(&registry, &statement(&bytes, &world.eve), &bytes).await, Err(ErrorKind::KeyUnknown));
        assert_eq!(submit(&registry, &statement(&bytes, &world.ben), &bytes).await, Err(ErrorKind::KeyNotAllowed));
        assert_eq!(world.files(), before);
    }
    world.directory.change_owners(|owners| owners.revoke(world.ann.public(), 100)).unwrap();
    for registry in world.both().await {
        let before = world.files();
        assert_eq!(submit(&registry, &statement(&bytes, &world.ann), &bytes).await, Err(ErrorKind::KeyRevoked));
        assert_eq!(world.files(), before);
    }
}

#[tokio::test]
async fn c_24_c_25_a_section_that_calls_itself_a_signature_signs_nothing() {
    let world = World::new();
    let plain = component("1.0.0", &[]);
    for garbage in [&b"\x01\x02\x03"[..], &b"\xff\xff\xff\xff\xff\xff"[..], b""] {
        let mut bytes = plain.clone();
        // A custom section: its id, its size, and the length of its name.
        let name = b"signature";
        bytes.extend([0, u8::try_from(1 + name.len() + garbage.len()).unwrap(), u8::try_from(name.len()).unwrap()]);
        bytes.extend(name.iter().chain(garbage));
        for registry in world.both().await {
            // Under a signature of nobody it is unsigned, and under the publisher's of other bytes as well.
            let refused = submit(&registry, &statement(&bytes, &world.eve), &bytes).await;
            assert_eq!(refused, Err(ErrorKind::KeyUnknown));
            let refused = submit(&registry, &statement(&plain, &world.ann), &bytes).await;
            assert_eq!(refused, Err(ErrorKind::DigestMismatch));
            assert_eq!(registry.list().await.unwrap(), []);
        }
    }
}

#[tokio::test]
async fn c_31_only_a_component_is_taken() {
    let world = World::new();
    let component = component("1.0.0", &[]);
    let said = statement(&component, &world.ann).open().unwrap().0.clone();
    let mut tar = vec![0; 1024];
    tar[..12].copy_from_slice(b"../../passwd");
    let uploads = [tar, b"PK\x03\x04../x".to_vec(), b"\x1f\x8b\x08".to_vec(), vec![0; 4 * 1024 * 1024], Vec::new()];
    for registry in world.both().await {
        for bytes in &uploads {
            let before = world.files();
            let statement = Statement { component_sha256: Digest::of(bytes), ..said.clone() };
            let refused = submit(&registry, &Signed::new(statement, &world.ann).unwrap(), bytes).await;
            assert_eq!(refused, Err(ErrorKind::NotComponent));
            assert_eq!(world.files(), before);
        }
    }
}

#[tokio::test]
async fn a_statement_cannot_promise_less_than_the_bytes_ask_nor_another_name() {
    let world = World::new();
    let bytes = component("1.0.0", &[("uses", json!(["entities"])), ("entities", json!(["city"]))]);
    let innocent = statement(&component("1.0.0", &[]), &world.ann).open().unwrap().0.clone();
    let honest = statement(&bytes, &world.ann).open().unwrap().0.clone();
    let lies = [
        Statement { grants_sha256: innocent.grants_sha256, ..honest.clone() },
        Statement { tools_sha256: Digest::of(b"other"), ..honest.clone() },
        Statement { version: "1.0.1".parse().unwrap(), ..honest.clone() },
        Statement { slug: "rain".to_owned(), ..honest },
    ];
    for registry in world.both().await {
        for lie in &lies {
            let before = world.files();
            let refused = submit(&registry, &Signed::new(lie.clone(), &world.ann).unwrap(), &bytes).await;
            assert_eq!(refused, Err(ErrorKind::DigestMismatch), "{lie:?}");
            assert_eq!(world.files(), before);
        }
    }
}

#[tokio::test]
async fn an_installer_believes_no_document_that_the_registry_changed() {
    let world = World::new();
    world.publish("1.0.0");
    let folder = world.folder.path().join("registry/releases/acme/weather/1.0.0");
    let registries = world.both().await;
    for (document, expected) in
        [("statement.json", ErrorKind::SignatureInvalid), ("decision.json", ErrorKind::NotReviewed)]
    {
        let whole = std::fs::read_to_string(folder.join(document)).unwrap();
        let digest = whole.find("sha256:").unwrap() + "sha256:".len();
        let mut flipped = whole.clone().into_bytes();
        flipped[digest] = if flipped[digest] == b'0' { b'1' } else { b'0' };
        std::fs::write(folder.join(document), flipped).unwrap();
        for registry in &registries {
            assert_eq!(world.resolved(registry, "acme/weather@1.0.0").await, Err(expected), "{document}");
        }
        std::fs::write(folder.join(document), whole).unwrap();
    }
    for registry in &registries {
        assert!(world.resolved(registry, "acme/weather@1.0.0").await.is_ok());
        // A home that knows the publisher but nobody who reviews.
        let mut owners = world.owners();
        owners.keys.retain(|known| !known.reviewer);
        let wanted = "acme/weather@1.0.0".parse().unwrap();
        let refused = resolve(registry, &wanted, &owners, &mut |_, _| {}).await.unwrap_err();
        assert_eq!(refused.kind, ErrorKind::NotReviewed);
    }
    let _: Release = registries[1].release(&"acme/weather@1.0.0".parse().unwrap()).await.unwrap();
}

mod over_http;
