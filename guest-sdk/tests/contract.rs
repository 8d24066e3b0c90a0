//! The SDK's copy of the contract is the contract.

use std::collections::BTreeMap;
use std::path::Path;

fn wit_files(folder: &str) -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files =
        std::fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("it can be read").path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "wit"));
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    files.map(|path| (name(&path), std::fs::read_to_string(&path).expect("it is text"))).collect()
}

#[test]
fn the_copy_is_the_same() {
    let copy = wit_files("wit");
    assert!(copy.contains_key("world.wit"));
    assert!(copy == wit_files("../wit"), "copy `/wit/*.wit` to `guest-sdk/wit/`");
}
