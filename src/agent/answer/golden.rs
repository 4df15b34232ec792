//! The golden table: what each text must come to. A change here is a change of what users' scores mean.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{AnswerRule, Extraction, UnparsedReason, from_reply, from_value};
use crate::domain::Choice;

const ABCD: &[&str] = &["a red car", "a blue car", "a green car", "no car"];
const NUMBERS: &[&str] = &["1", "10"];
const CARS: &[&str] = &["1", "10", "10 cars", "100 cars"];
const TWINS: &[&str] = &["jump", "run", "jump", "sit", "walk"];
const NAMES: &[&str] = &["A. Lincoln", "B. Franklin", "none of the above", "Not raining"];
const NINE: &[&str] = &["a", "b", "c", "d", "e", "f", "g", "h", "i"];
const CHINESE: &[&str] = &["红色", "蓝色", "绿色", "黄色"];

fn choices(texts: &[&str]) -> Vec<Choice> {
    ('A'..).zip(texts).map(|(letter, text)| Choice { letter, text: (*text).to_owned() }).collect()
}

/// Replies that name an option.
const PARSED: &[(&str, &[&str], char)] = &[
    // Plain markers.
    ("Answer: C", ABCD, 'C'),
    ("Best answer: C", ABCD, 'C'),
    ("answer: c", ABCD, 'C'),
    ("Final Answer:C", ABCD, 'C'),
    ("ANSWER = (C)", ABCD, 'C'),
    ("Answer - C", ABCD, 'C'),
    ("Answer C", ABCD, 'C'),
    ("The answer is C", ABCD, 'C'),
    ("The correct answer is option C.", ABCD, 'C'),
    ("The correct option is C because the car is green.", ABCD, 'C'),
    ("The best choice would be: C", ABCD, 'C'),
    ("My final answer would therefore be C!", ABCD, 'C'),
    ("the answer is a.", ABCD, 'A'),
    ("The answer is A because it is red", ABCD, 'A'),
    ("Answer: A", ABCD, 'A'),
    ("Answer: I", NINE, 'I'),
    ("I choose C.", ABCD, 'C'),
    ("So I would go with option B", ABCD, 'B'),
    ("I'd pick B over A.", ABCD, 'B'),
    ("C is the correct answer because A is wrong.", ABCD, 'C'),
    ("Option **B** is correct.", ABCD, 'B'),
    ("Final answer\n\nC", ABCD, 'C'),
    ("## Answer\n**C**", ABCD, 'C'),
    ("**Answer:** C. a green car", ABCD, 'C'),
    ("Answer: C) a green car", ABCD, 'C'),
    ("<answer>C</answer>", ABCD, 'C'),
    ("<answer>a green car</answer>", ABCD, 'C'),
    ("{'answer': 'C', 'evidence': []}", ABCD, 'C'),
    ("{\"answer\": \"C\"}", ABCD, 'C'),
    ("```json\n{\"answer\": \"c\", \"reasoning\": \"B looks wrong\"}\n```", ABCD, 'C'),
    // Only a decorated letter.
    ("C", ABCD, 'C'),
    ("c", ABCD, 'C'),
    ("  C.\n", ABCD, 'C'),
    ("**C**", ABCD, 'C'),
    ("$C$", ABCD, 'C'),
    ("(C)", ABCD, 'C'),
    ("[C]", ABCD, 'C'),
    ("`C`", ABCD, 'C'),
    ("\"C\"", ABCD, 'C'),
    ("\\boxed{C}", ABCD, 'C'),
    ("\\boxed{\\text{C}}", ABCD, 'C'),
    ("$\\boxed{C}$", ABCD, 'C'),
    ("Option C", ABCD, 'C'),
    ("\u{1b}[1mC\u{1b}[0m", ABCD, 'C'),
    ("\u{200b}C\0", ABCD, 'C'),
    // Full width, other scripts.
    ("Ｃ", ABCD, 'C'),
    ("（Ｃ）", ABCD, 'C'),
    ("ａｎｓｗｅｒ：Ｃ", ABCD, 'C'),
    ("Ⓒ", ABCD, 'C'),
    ("答案是C", CHINESE, 'C'),
    ("答案：C", CHINESE, 'C'),
    ("答案为Ｃ。", CHINESE, 'C'),
    ("正确答案应该是选项C,因为车是绿色的", CHINESE, 'C'),
    ("综上,故选C", CHINESE, 'C'),
    ("我选择 C。", CHINESE, 'C'),
    ("选项C是正确的", CHINESE, 'C'),
    ("【答案】C", CHINESE, 'C'),
    ("答案是绿色", CHINESE, 'C'),
    ("绿色", CHINESE, 'C'),
    ("정답은 C", ABCD, 'C'),
    ("정답: C입니다", ABCD, 'C'),
    ("따라서 답은 C 입니다.", ABCD, 'C'),
    ("答えはCです", ABCD, 'C'),
    ("La respuesta es C.", ABCD, 'C'),
    // The last marker wins; prose after it does not.
    ("ANSWER: A … actually, ANSWER: B", ABCD, 'B'),
    ("The answer is B. Note that A man appears as well.", ABCD, 'B'),
    ("The answer is B. (A) is wrong because the car is not red.", ABCD, 'B'),
    ("Answer: B. The answer is clear from the subtitles.", ABCD, 'B'),
    ("Please answer with A, B, C or D. Answer: D", ABCD, 'D'),
    ("I don't think the answer is A. The answer is B.", ABCD, 'B'),
    ("The man is not running so the answer is C", ABCD, 'C'),
    ("I am not sure but the answer is C", ABCD, 'C'),
    ("If the answer is A, the car is red. It is not. Answer: B", ABCD, 'B'),
    // Decorated letters in prose.
    ("A man is walking… (C)", ABCD, 'C'),
    ("A man parks the car. **C**", ABCD, 'C'),
    ("Looking at the scene, **C. a green car** fits.", ABCD, 'C'),
    ("It cannot be (A). So (C).", ABCD, 'C'),
    ("I see a green one.\nC", ABCD, 'C'),
    // Reasoning is no answer.
    ("<think>The answer is A.</think>Answer: C", ABCD, 'C'),
    ("maybe the answer is A</think>\n\nC", ABCD, 'C'),
    // Option texts.
    ("a green car", ABCD, 'C'),
    ("A Green Car.", ABCD, 'C'),
    ("\"a green car\"", ABCD, 'C'),
    ("C. a green car", ABCD, 'C'),
    ("(C) a green car", ABCD, 'C'),
    ("Answer: a green car", ABCD, 'C'),
    ("10 cars", CARS, 'C'),
    ("10", CARS, 'B'),
    ("Answer: 10 cars", CARS, 'C'),
    ("A. Lincoln", NAMES, 'A'),
    ("Answer: none of the above", NAMES, 'C'),
    ("Answer: Not raining", NAMES, 'D'),
    ("run", TWINS, 'B'),
];

/// Replies that name no option, or several.
const UNPARSED: &[(&str, &[&str], UnparsedReason)] = &[
    ("", ABCD, UnparsedReason::Empty),
    (" \n\t ", ABCD, UnparsedReason::Empty),
    ("<think>The answer is C", ABCD, UnparsedReason::OnlyReasoning),
    ("Don't know", ABCD, UnparsedReason::NoAnswer),
    ("I don't know.", ABCD, UnparsedReason::NoAnswer),
    ("None of A, B, C, D", ABCD, UnparsedReason::NoAnswer),
    ("I", ABCD, UnparsedReason::NotAnOption),
    ("I think a man is driving", ABCD, UnparsedReason::NoAnswer),
    ("I think a man is driving", NINE, UnparsedReason::NoAnswer),
    ("A man is walking", ABCD, UnparsedReason::NoAnswer),
    ("The answer is a man who walks", ABCD, UnparsedReason::NoAnswer),
    ("Answer: A man who walks", ABCD, UnparsedReason::NoAnswer),
    ("The answer is not clear", ABCD, UnparsedReason::Declined),
    ("Answer: none of them", ABCD, UnparsedReason::Declined),
    ("答案:没有", CHINESE, UnparsedReason::Declined),
    ("Answer: N/A", ABCD, UnparsedReason::Declined),
    ("Answer: F", ABCD, UnparsedReason::NotAnOption),
    ("F", ABCD, UnparsedReason::NotAnOption),
    ("Answer: A or B", ABCD, UnparsedReason::Ambiguous),
    ("Answer: B and C", ABCD, UnparsedReason::Ambiguous),
    ("Answer: A/B", ABCD, UnparsedReason::Ambiguous),
    ("Answer: A, C", ABCD, UnparsedReason::Ambiguous),
    ("答案是A和B", CHINESE, UnparsedReason::Ambiguous),
    ("(A) a red car (B) a blue car (C) a green car (D) no car", ABCD, UnparsedReason::Ambiguous),
    ("Options: (A), (B), (C)", ABCD, UnparsedReason::Ambiguous),
    ("A\nB\nC\nD", ABCD, UnparsedReason::NoAnswer),
    ("Choose A, B, C or D.", ABCD, UnparsedReason::NoAnswer),
    ("I don't think the answer is C", ABCD, UnparsedReason::NoAnswer),
    ("Is the answer C?", ABCD, UnparsedReason::NoAnswer),
    ("Neither A nor B is correct", ABCD, UnparsedReason::NoAnswer),
    ("Answer: A.M. radio", ABCD, UnparsedReason::NoAnswer),
    ("A's car", ABCD, UnparsedReason::NoAnswer),
    ("jump", TWINS, UnparsedReason::Ambiguous),
    ("10 cars", NUMBERS, UnparsedReason::NoAnswer),
    (
        "Error code: 429 - {'error': {'message': 'Rate limit reached for model D', 'type': 'requests'}}",
        ABCD,
        UnparsedReason::NoAnswer,
    ),
    ("{\"error\": {\"message\": \"Internal Server Error\", \"code\": 500}}", ABCD, UnparsedReason::NoAnswer),
    ("Bad gateway", ABCD, UnparsedReason::NoAnswer),
    ("Sorry, I Cannot help with that. As An AI model…", ABCD, UnparsedReason::NoAnswer),
];

/// Values of an explicit answer field.
fn field_cases() -> Vec<(Value, &'static [&'static str], Option<char>)> {
    vec![
        (json!("C"), ABCD, Some('C')),
        (json!("c"), ABCD, Some('C')),
        (json!("C: it is green"), ABCD, Some('C')),
        (json!("C because it is green"), ABCD, Some('C')),
        (json!("A because it is red"), ABCD, Some('A')),
        (json!("The answer is C"), ABCD, Some('C')),
        (json!(["C"]), ABCD, Some('C')),
        (json!({"letter": "C"}), ABCD, Some('C')),
        (json!(10), CARS, Some('B')),
        (json!(3), ABCD, None),
        (json!(["A", "B"]), ABCD, None),
        (json!("A man walks"), ABCD, None),
        (json!("A, B"), ABCD, None),
        (json!("none"), ABCD, None),
        (json!("E"), ABCD, None),
        (json!(null), ABCD, None),
        (json!(true), ABCD, None),
        (json!({}), ABCD, None),
        (json!([]), ABCD, None),
    ]
}

#[test]
fn every_reply_of_the_golden_table_is_read_as_it_says() {
    let mut wrong = Vec::new();
    for (text, options, letter) in PARSED {
        let got = from_reply(text, &choices(options));
        if got.letter() != Some(*letter) {
            wrong.push(format!("{text:?}: {got:?}, not {letter}"));
        }
    }
    for (text, options, reason) in UNPARSED {
        let got = from_reply(text, &choices(options));
        if got != (Extraction::Unparsed { reason: *reason }) {
            wrong.push(format!("{text:?}: {got:?}, not {reason:?}"));
        }
    }
    for (value, options, letter) in field_cases() {
        let got = from_value(&value, &choices(options));
        if got.letter() != letter {
            wrong.push(format!("field {value}: {got:?}, not {letter:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(PARSED.len() + UNPARSED.len() >= 60);
}

#[test]
fn the_rule_that_found_the_letter_is_told() {
    let rule = |text| match from_reply(text, &choices(ABCD)) {
        Extraction::Letter { rule, .. } => rule,
        Extraction::Unparsed { reason } => panic!("{text:?}: {reason:?}"),
    };
    assert_eq!(rule("(c)"), AnswerRule::OnlyLetter);
    assert_eq!(rule("no car"), AnswerRule::OptionText);
    assert_eq!(rule("it is, I think, **C**"), AnswerRule::Decorated);
    assert_eq!(rule("The answer is C"), AnswerRule::Marker);
}

#[test]
fn a_text_of_nothing_but_markers_is_read_in_linear_time() {
    // Quadratic work here would take minutes.
    for piece in ["the answer is (", "<think>", "</think>", "(A) (B) (C) **", "选", "\\boxed{", "A\n", "is correct "] {
        let text = piece.repeat(40_000 / piece.len());
        assert_eq!(from_reply(&text, &choices(ABCD)).letter(), None, "{piece:?}");
    }
}

proptest! {
    #[test]
    fn no_text_panics_and_every_letter_is_an_option(text in any::<String>()) {
        if let Some(letter) = from_reply(&text, &choices(ABCD)).letter() {
            prop_assert!(('A'..='D').contains(&letter));
        }
    }

    #[test]
    fn pieces_of_markers_never_panic(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "answer", ":", " ", "A", "b", "C", "is", "(", ")", "**", "$", "\\boxed{", "}", "答案", "是", "정답", "\n", "'",
                "<think>", "</think>", "/", "or", ".", "not", "{\"answer\":", "\"", "\u{1b}[", "Ｃ", "选",
            ]),
            0..24,
        )
    ) {
        let text = pieces.concat();
        if let Some(letter) = from_reply(&text, &choices(ABCD)).letter() {
            prop_assert!(('A'..='D').contains(&letter));
        }
    }

    #[test]
    fn a_capital_that_merely_stands_in_prose_is_no_answer(
        words in prop::collection::vec(prop::sample::select(vec!["man", "walks", "the", "dog", "Dave", "Bob", "runs", "A", "I"]), 2..12)
    ) {
        // A sentence without marker or decoration, ended by an ordinary word.
        let text = format!("{} quickly", words.join(" "));
        prop_assert_eq!(from_reply(&text, &choices(ABCD)).letter(), None);
    }
}
