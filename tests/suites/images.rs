//! `remit/images`: no code, a key that nobody sees, and an image that becomes a file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use remit_upstream::{Answer, Upstream};
use serde_json::{Value, json};

use crate::support::engine::add_engine;
use crate::support::home::{Home, built, remit};

const KEY: &str = "sk-proj-4Vb9Qm2LxT7cRzW1";
const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\nnot all of an image, but bytes that are no text: \xff\xfe";

const PROGRAM: &str = "
    const made = await remit.http.request({
        method: 'POST', url: 'https://api.openai.com/v1/images/generations',
        headers: { authorization: 'Bearer {{IMAGES_API_KEY}}' },
        json: { model: 'gpt-image-1', prompt: 'A lighthouse at dusk.', size: '1024x1024' },
        save: { to: 'lighthouse.png', base64Field: '/data/0/b64_json' },
    });
    return made.file ?? { status: made.status, body: made.body }";

struct World {
    home: Home,
    upstream: Upstream,
}

impl World {
    fn new(grants: &[&str]) -> Self {
        let answer = json!({ "created": 1, "data": [{ "b64_json": STANDARD.encode(PIXEL) }] });
        let upstream = Upstream::start(&["api.openai.com"], move |_| Answer::json(200, &answer));
        let folder = tempfile::tempdir().expect("a scratch folder");
        add_engine(folder.path());
        let authority = folder.path().join("upstream.pem");
        std::fs::write(&authority, upstream.authority_pem()).expect("room");
        let settings = upstream.settings("remit/images", "api.openai.com", &authority);
        std::fs::write(folder.path().join("remit.toml"), settings).expect("room");
        let file = folder.path().join("images.wasm");
        std::fs::write(&file, built("images")).expect("room");
        let file = file.display().to_string();
        let arguments: Vec<&str> = ["install", &file].into_iter().chain(grants.iter().copied()).collect();
        assert_eq!(remit(folder.path(), &arguments, "").exit, Some(0));
        assert_eq!(remit(folder.path(), &["secret", "set", "IMAGES_API_KEY"], KEY).exit, Some(0));
        let approved = remit(folder.path(), &["approve", "remit/images", "IMAGES_API_KEY", "--yes"], "");
        assert_eq!(approved.exit, Some(0), "{approved:?}");
        Self { home: Home::open(folder), upstream }
    }

    fn run(&self) -> Result<Value, String> {
        let ran = self.home.call("remit/images.run", &json!({ "program": PROGRAM }));
        ran.map(|reply| reply.structured.expect("a result")["result"].clone())
            .map_err(|failure| format!("{}: {}", failure.error.kind.code(), failure.error.message))
    }
}

#[test]
fn an_image_becomes_a_file_and_neither_it_nor_the_key_comes_into_the_program() {
    let world = World::new(&["--yes"]);
    let made = world.run().expect("an image");
    assert_eq!((&made["name"], &made["bytes"]), (&json!("lighthouse.png"), &json!(PIXEL.len())));
    assert_eq!(
        (&made["mediaType"], &made["uri"]),
        (&json!("image/png"), &json!("remit://sandbox/remit/images/lighthouse.png"))
    );
    let seen = world.upstream.seen();
    assert_eq!(seen[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let said = made.to_string();
    assert!(!said.contains(KEY) && !said.contains(&STANDARD.encode(PIXEL)[..20]), "{said}");
    let records = format!("{:?}", world.home.records());
    assert!(!records.contains(KEY) && records.contains("lighthouse.png"), "{records}");
}

#[test]
fn without_the_sandbox_nothing_leaves() {
    let world = World::new(&["--grant", "http:api.openai.com"]);
    let refused = world.run();
    assert!(refused.is_err(), "{refused:?}");
    assert!(world.upstream.seen().is_empty(), "nothing was sent");
}
