//! The patch engine under arbitrary edits (design 05): frozen ranges, reports, size.

use proptest::prelude::*;
use trm::evolution::patch::{
    Edit, EditStatus, FrozenHeadings, FrozenSpec, Region, apply_patch_with_report, frozen_ranges, momentum_inner,
    region_bounds, replace_momentum,
};

fn edit(op: &str, target: &str, content: &str) -> Edit {
    Edit { op: op.to_owned().into(), target: target.to_owned(), content: content.to_owned() }
}

fn system_spec() -> FrozenSpec {
    FrozenHeadings::default().system_spec()
}

/// A line of a document, with all that the engine looks for and all that could confuse it.
fn any_line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-c #`~<!>-]{0,8}",
        2 => Just("---".to_owned()),
        1 => Just("name: x".to_owned()),
        2 => Just("## Output format".to_owned()),
        1 => Just("# 能力边界".to_owned()),
        1 => Just("```".to_owned()),
        1 => Just("~~~~ x".to_owned()),
        1 => Just("- e\u{301}\u{200d}🙂\0".to_owned()),
        1 => any::<String>(),
    ]
}

fn any_document() -> impl Strategy<Value = String> {
    let regions = prop_oneof![
        3 => Just("<!-- APPENDIX_START -->\n- n\n<!-- APPENDIX_END -->\n<!-- MOMENTUM_START -->m<!-- MOMENTUM_END -->"),
        1 => Just("<!-- MOMENTUM_START -->\n<!-- MOMENTUM_END --> tail"),
        1 => Just("<!-- APPENDIX_START -->"),
        1 => Just("<!-- APPENDIX_END --><!-- APPENDIX_START -->"),
        2 => Just(""),
    ];
    let line_end = prop_oneof![Just("\n"), Just("\r\n")];
    (
        any::<bool>(),
        prop_oneof![3 => Just(""), 1 => Just("\u{feff}")],
        proptest::collection::vec(any_line(), 0..12),
        regions,
        proptest::collection::vec(any_line(), 0..4),
        line_end,
    )
        .prop_map(|(front, bom, before, regions, after, line_end)| {
            let front = if front { "---\nname: a\ndescription: b\ntask_type: c\n---\n" } else { "" };
            format!("{bom}{front}{}\n{regions}\n{}", before.join("\n"), after.join("\n")).replace('\n', line_end)
        })
}

/// Edits whose targets are cut out of the document, so that most of them hit.
fn any_edits(document: &str) -> impl Strategy<Value = Vec<Edit>> + use<> {
    let chars: Vec<char> = document.chars().collect();
    let length = chars.len();
    let slice = (0..=length, 0..20_usize)
        .prop_map(move |(start, size)| chars.iter().skip(start).take(size).collect::<String>());
    let target = prop_oneof![6 => slice, 1 => any::<String>(), 1 => Just(String::new())];
    let content = prop_oneof![
        3 => proptest::collection::vec(any_line(), 0..4).prop_map(|lines| lines.join("\n")),
        1 => Just("<!-- APPENDIX_END -->".to_owned()),
        1 => Just("START -->".to_owned()),
    ];
    let op = prop_oneof![Just("append"), Just("insert_after"), Just("replace"), Just("delete"), Just("other")];
    proptest::collection::vec(
        (op, target, content).prop_map(|(op, target, content)| edit(op, &target, &content)),
        0..12,
    )
}

fn any_case() -> impl Strategy<Value = (String, Vec<Edit>)> {
    any_document().prop_flat_map(|document| {
        let edits = any_edits(&document);
        (Just(document), edits)
    })
}

proptest! {
    /// Invariants 1 to 3 of the engine.
    #[test]
    fn frozen_ranges_come_through_byte_for_byte((document, edits) in any_case(), skill in any::<bool>()) {
        let spec = if skill { FrozenSpec::skill() } else { system_spec() };
        let before = frozen_ranges(&document, &spec);
        let outcome = apply_patch_with_report(&document, &edits, &spec);
        let (Ok(before), Ok(outcome)) = (&before, &outcome) else {
            prop_assert_eq!(before.err(), outcome.err());
            return Ok(());
        };
        prop_assert_eq!(outcome.report.len(), edits.len());
        for (index, (row, edit)) in outcome.report.iter().zip(&edits).enumerate() {
            prop_assert_eq!(row.index, index);
            prop_assert_eq!(&row.op, &edit.op);
        }
        let mut place = 0;
        for frozen in before.iter().filter(|frozen| frozen.range.end > 0) {
            let text = document.get(frozen.range.clone()).unwrap();
            let found = outcome.content.get(place..).unwrap().find(text);
            prop_assert!(found.is_some(), "{text:?} was changed: {:?}", outcome.content);
            // Ranges may lie inside each other: the next one starts no earlier.
            place += found.unwrap_or_default();
        }
        for region in Region::ALL {
            let inner = |text: &str| {
                region_bounds(text, region).map(|found| found.map(|bounds| text.get(bounds.inner).unwrap().to_owned()))
            };
            prop_assert_eq!(inner(&document), inner(&outcome.content));
        }
        if outcome.applied() == 0 {
            prop_assert_eq!(&outcome.content, &document);
        }
    }

    #[test]
    fn any_text_gives_a_result_or_a_typed_error(text in any::<String>(), target in any::<String>(), content in any::<String>()) {
        for op in ["append", "insert_after", "replace", "delete"] {
            let outcome = apply_patch_with_report(&text, &[edit(op, &target, &content)], &system_spec());
            prop_assert!(outcome.is_ok(), "no marker, no error");
        }
    }

    #[test]
    fn the_momentum_region_takes_guidance_idempotently(document in any_document(), guidance in "[a-z#\n -]{0,40}") {
        let Ok(once) = replace_momentum(&document, &guidance) else { return Ok(()) };
        prop_assert_eq!(momentum_inner(&once), guidance.trim());
        prop_assert_eq!(replace_momentum(&once, &guidance), Ok(once.clone()));
        let cleared = replace_momentum(&once, "").unwrap();
        prop_assert_eq!(momentum_inner(&cleared), "");
        // Nothing outside of the region changes, once there is one.
        let outside = |text: &str| {
            let bounds = region_bounds(text, Region::Momentum).unwrap().unwrap().outer;
            (text.get(..bounds.start).unwrap().to_owned(), text.get(bounds.end..).unwrap().to_owned())
        };
        prop_assert_eq!(outside(&once), outside(&cleared));
    }
}

#[test]
fn broken_markers_refuse_the_whole_patch() {
    let edits = [edit("append", "", "x")];
    for text in ["<!-- APPENDIX_START -->", "<!-- MOMENTUM_END --> <!-- MOMENTUM_START -->"] {
        assert!(apply_patch_with_report(text, &edits, &FrozenSpec::skill()).is_err(), "{text}");
    }
}

#[test]
fn a_target_that_occurs_twice_is_changed_once_even_if_the_second_would_be_allowed() {
    let text = "---\nname: a\n---\nname: a\n";
    let outcome = apply_patch_with_report(text, &[edit("replace", "name: a", "x")], &FrozenSpec::skill()).unwrap();
    assert_eq!(outcome.report[0].status, EditStatus::SkippedFrozen);
    assert_eq!(outcome.content, text);
}

/// A skill of that many lines and edits of all kinds, four of five of which hit.
fn long_case(lines: usize, edits: usize) -> (String, Vec<Edit>) {
    let mut text = String::from("---\nname: a\n---\n");
    for line in 0..lines {
        text.push_str(&format!("- line {line} of a long strategy, with some words in it\n"));
    }
    text.push_str("\n<!-- APPENDIX_START -->\n- note\n<!-- APPENDIX_END -->\n");
    let edits = (0..edits)
        .map(|index| {
            let target = format!("line {} of", (index * 2) % lines);
            match index % 5 {
                0 => edit("append", "", &format!("- appended {index}")),
                1 => edit("insert_after", &target, &format!("- inserted {index}")),
                2 => edit("replace", &target, &format!("{target} it")),
                3 => edit("insert_after", &format!("- {target}"), "- twice"),
                _ => edit("replace", &format!("nowhere {index}"), "x"),
            }
        })
        .collect();
    (text, edits)
}

#[test]
fn long_texts_take_many_edits() {
    // The long form (`tools/prove patch-fuzz`) makes all 10,000 edits in the megabyte.
    let many = std::env::var("TRM_PATCH_EDITS").ok().and_then(|text| text.parse().ok()).unwrap_or(300);
    for (lines, edits) in [(20_000, many), (1_000, 10_000)] {
        let (text, edits) = long_case(lines, edits);
        assert!(lines < 20_000 || text.len() > 1_000_000);
        let outcome = apply_patch_with_report(&text, &edits, &FrozenSpec::skill()).unwrap();
        assert_eq!(outcome.report.len(), edits.len());
        assert_eq!(outcome.applied(), edits.len() / 5 * 4);
        assert!(outcome.content.ends_with("<!-- APPENDIX_START -->\n- note\n<!-- APPENDIX_END -->\n"));
    }
}
