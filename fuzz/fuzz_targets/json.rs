//! JSON extraction on arbitrary text: no panic, objects only, and what is valid comes through unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trm::evolution::json::{extract_object, repair_object, stored_object, writer_object};

fuzz_target!(|text: &str| {
    let extracted = extract_object(text);
    let _ = repair_object(text);
    let _ = stored_object(text);
    if let Some(strict) = writer_object(text) {
        // Whatever a writer's reply is read as, a judge's would be too.
        assert_eq!(extracted.as_ref(), Ok(&strict));
    }
    if let Ok(object) = extracted {
        let again = serde_json::Value::Object(object.clone()).to_string();
        assert_eq!(stored_object(&again).as_ref(), Some(&object));
        // A fence or a thinking tag inside a string may be taken for one outside.
        if !again.contains("```") && !again.contains("</think>") {
            assert_eq!(extract_object(&again).as_ref(), Ok(&object));
        }
    }
});
