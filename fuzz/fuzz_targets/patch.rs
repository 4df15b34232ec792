//! The patch engine on arbitrary texts and edits: no panic, frozen ranges byte for byte, a whole report.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use trm::evolution::patch::{
    Edit, FrozenHeadings, FrozenSpec, Region, append_notes, appendix_notes, apply_patch_with_report, frozen_ranges,
    momentum_inner, region_bounds, replace_momentum, replace_notes,
};

#[derive(Debug, Arbitrary)]
struct Input {
    skill: bool,
    front_matter: bool,
    regions: u8,
    before: String,
    after: String,
    edits: Vec<FuzzEdit>,
    guidance: String,
}

#[derive(Debug, Arbitrary)]
struct FuzzEdit {
    op: u8,
    /// A slice of the document as the target, so that targets are found; else `target`.
    slice: Option<(u16, u8)>,
    target: String,
    content: String,
}

fuzz_target!(|input: Input| {
    let document = document(&input);
    let edits: Vec<Edit> = input.edits.iter().map(|edit| concrete(edit, &document)).collect();
    let headings = FrozenHeadings::default();
    let spec = if input.skill { FrozenSpec::skill() } else { headings.system_spec() };
    patch(&document, &edits, &spec);
    regions(&document, &input.guidance);
});

fn document(input: &Input) -> String {
    let front = if input.front_matter { "---\nname: a\ntask_type: b\n---\n" } else { "" };
    let regions = match input.regions % 5 {
        0 => "",
        1 => "<!-- APPENDIX_START -->\n- n\n<!-- APPENDIX_END -->",
        2 => "<!-- MOMENTUM_START -->m<!-- MOMENTUM_END -->\n<!-- APPENDIX_START --><!-- APPENDIX_END -->",
        3 => "## Output format\n<!-- APPENDIX_START --><!-- APPENDIX_END -->",
        _ => "<!-- APPENDIX_END -->",
    };
    format!("{front}{}\n{regions}\n{}", input.before, input.after)
}

fn concrete(edit: &FuzzEdit, document: &str) -> Edit {
    let op = ["append", "insert_after", "replace", "delete", "other"][usize::from(edit.op) % 5];
    let target = match edit.slice {
        Some((start, length)) => document.chars().skip(start.into()).take(length.into()).collect(),
        None => edit.target.clone(),
    };
    Edit { op: op.to_owned().into(), target, content: edit.content.clone() }
}

fn patch(document: &str, edits: &[Edit], spec: &FrozenSpec) {
    let (Ok(before), Ok(outcome)) = (frozen_ranges(document, spec), apply_patch_with_report(document, edits, spec))
    else {
        assert_eq!(
            frozen_ranges(document, spec).err(),
            apply_patch_with_report(document, edits, spec).err(),
            "both or neither refuse a text"
        );
        return;
    };
    assert_eq!(outcome.report.len(), edits.len());
    let mut place = 0;
    for frozen in before {
        let text = &document[frozen.range];
        place += outcome.content[place..].find(text).expect("a frozen range was changed");
    }
    for region in Region::ALL {
        let inner = |text: &str| region_bounds(text, region).map(|found| found.map(|bounds| text[bounds.inner].to_owned()));
        assert_eq!(inner(document), inner(&outcome.content));
    }
}

fn regions(document: &str, guidance: &str) {
    if let Ok(once) = replace_momentum(document, guidance) {
        assert_eq!(replace_momentum(&once, guidance).as_ref(), Ok(&once), "it is idempotent");
        assert_eq!(replace_momentum(&once, momentum_inner(&once)).as_ref(), Ok(&once), "it reads back");
    }
    let notes = [guidance.to_owned()];
    if let Ok(grown) = append_notes(document, &notes)
        && let Ok(replaced) = replace_notes(&grown, &appendix_notes(&grown))
    {
        assert_eq!(appendix_notes(&replaced), appendix_notes(&grown), "notes survive being written again");
    }
}
