//! Skills are understood: paraphrases of a strategy count, keyword lists and negations do not.

use std::collections::BTreeSet;

use trm::assets::default_skills;
use trm::sim::world::{Damage, Strategy, damages_in, strategies_in};

/// Sentences as the author of a skill would write them; each teaches its own strategy and no other.
const PARAPHRASES: [(Strategy, &[&str]); 14] = [
    (
        Strategy::AnchorMoment,
        &[
            "Locate the moment the question asks about before you do anything else.",
            "First find the scene that the question refers to.",
            "Pin down which event the question is talking about.",
            "Begin by identifying the person and the moment named in the question.",
            "Determine the exact scene described by the question before looking at details.",
            "Do not start searching for details until you have located the event mentioned in the question.",
            "The moment named in the question must be found first.",
            "Always work out which scene is meant, using the names in the question.",
            "Anchor the question to one event of the tree before going on.",
            "Navigate to the passage the question mentions and stay there.",
            "Settle which of the occasions the question means before you look closer.",
            "Make sure that you have found the point of the video that the question describes.",
        ],
    ),
    (
        Strategy::CompareOptions,
        &[
            "Compare each option with what the nodes say before answering.",
            "Never submit before you have checked every option against the evidence.",
            "Go through the options one by one and discard those that the video contradicts.",
            "Weigh all candidates against the evidence you collected.",
            "Do not answer until all four options have been compared with the text.",
            "For every option, state why it is right or wrong.",
            "Evaluate all answer choices, even if the first one seems to fit.",
            "Eliminate wrong options one by one until a single one remains.",
            "Hold each of the alternatives against your notes before you commit.",
            "Every choice must be tested against the evidence.",
            "Consider all the options carefully instead of taking the first plausible one.",
            "Write down for each option the evidence for and against it.",
        ],
    ),
    (
        Strategy::CompareScenes,
        &[
            "Compare the two scenes side by side.",
            "Open both events and note what has changed between them.",
            "When the question connects two moments, view both scenes before you judge.",
            "Set the earlier scene beside the later one.",
            "Contrast the two passages and write down the differences between them.",
            "Look at both occasions before drawing a conclusion.",
            "Put the descriptions of the two moments next to each other.",
            "You should compare both nodes rather than rely on one of them.",
            "Never judge a change without inspecting both moments.",
            "Work out what changed between the first scene and the second.",
            "The two events have to be compared with each other.",
            "Read both passages and hold one against the other.",
        ],
    ),
    (
        Strategy::CountOneByOne,
        &[
            "Count the objects one by one.",
            "Keep a running list of the items you have counted.",
            "Count every occurrence separately and never estimate.",
            "Maintain a tally of the instances as you move from event to event.",
            "Add one to the total for each new instance you meet.",
            "Tally each appearance individually.",
            "Make a numbered list of the items instead of guessing the total.",
            "Do not guess a number; count each item on its own.",
            "Enumerate the instances one at a time, with the node beside each.",
            "Start a tally with the first instance and mark each further one.",
            "Items must be counted one by one, never by impression.",
            "List every occurrence before you give a total.",
        ],
    ),
    (
        Strategy::FixViewpoint,
        &[
            "Fix a viewpoint first and keep to it.",
            "Choose a landmark such as the door and describe all positions relative to it.",
            "Describe every position from the camera's point of view.",
            "Always state left and right as seen from the camera.",
            "Pick one reference point and relate every object to it.",
            "Note where each thing is relative to a fixed landmark.",
            "Decide on one perspective before you speak of left and right.",
            "Record locations with respect to a fixed object in the room.",
            "Use the viewer's standpoint for left and right throughout.",
            "Establish a common frame of reference, such as the counter, before judging positions.",
            "Positions should be described from one and the same viewpoint.",
            "Do not judge left or right before you have chosen a reference point.",
        ],
    ),
    (
        Strategy::OpenFrames,
        &[
            "Open the frames to read small text.",
            "Use observe_frame whenever the answer depends on something that only the picture shows.",
            "Call observe_frame on the level-3 nodes for fine details.",
            "Look at the frames themselves; captions leave out colours and lettering.",
            "Do not answer a question about writing before you have looked at the frame.",
            "Inspect the actual images for signs and labels.",
            "Small text must be read from the frames.",
            "Go down to the frames when the caption is vague.",
            "Zoom into the picture if a label is mentioned.",
            "Request the still images of the event and examine them.",
            "Never rely on the card alone; check the frame as well.",
            "Descend to level-3 nodes for anything visual.",
        ],
    ),
    (
        Strategy::OpenNeighbours,
        &[
            "Open the neighbouring nodes too.",
            "View the node just before and the one just after the event.",
            "Check the adjacent events, since the next step is often there.",
            "Look at the siblings of the event as well.",
            "Read the preceding and the following node.",
            "Step one node forward and one node back from the event.",
            "Once the event is found, visit the next node and the previous node.",
            "Inspect what comes directly after the event in the tree.",
            "Do not stop at the event itself: see its neighbours on both sides.",
            "The nodes on either side belong to the answer, so open the previous event and the next.",
            "Make sure to examine the event before and the event after it.",
            "Explore the sibling nodes around the event.",
        ],
    ),
    (
        Strategy::OrderByTimestamps,
        &[
            "Check the timestamps to establish the order of events.",
            "Sort the events by time before you compare sequences.",
            "Use the time ranges of the nodes, not the order of the search results.",
            "Write down the start time of each event.",
            "Never decide on an order without checking the time range of each event.",
            "Arrange the events chronologically.",
            "Put all events on a timeline.",
            "Compare the start times of the nodes.",
            "The order must be settled by the timestamps.",
            "Rely on the time_range field to tell which event is earlier.",
            "Note when each event starts and order them by start time.",
            "List the nodes in chronological order.",
        ],
    ),
    (
        Strategy::ReadSubtitles,
        &[
            "Read the subtitles carefully.",
            "Check the subtitle of the event for spoken explanations.",
            "Listen to what people say, not only to what they do.",
            "Always consult the transcript before you conclude anything.",
            "Pay attention to what the speaker says.",
            "Do not skip the subtitles.",
            "Never submit without reading the subtitles.",
            "Look in the dialogue for the explanation.",
            "Find out what the people in the scene say about it.",
            "Subtitles should be read word for word.",
            "Include the spoken words in your reading, in particular the narration.",
            "Scan the subtitles of the event for numbers and names.",
        ],
    ),
    (
        Strategy::SearchOptionWords,
        &[
            "Search with the option's own words.",
            "Run search_similar once per option, using its wording.",
            "Use the words of the options as search queries.",
            "Query the tree with the key terms of each choice.",
            "Try a search with the phrases from every option.",
            "Feed the text of each option into search_similar.",
            "Search for each option in turn.",
            "Do not only search for the question; also search with the wording of the options.",
            "Issue one query for every candidate, using its exact terms.",
            "Call search_similar with the nouns of each option.",
            "Every option should be searched separately.",
            "Take the wording of each alternative as a query of its own.",
        ],
    ),
    (
        Strategy::SurveyScenes,
        &[
            "Look through all the scenes first.",
            "Skim every level-1 node to get an overview.",
            "Read all scene summaries from beginning to end.",
            "Survey the whole set of scenes before opening one.",
            "Go over all the level-1 scenes before you settle on a topic.",
            "Visit every scene at least once.",
            "Write an outline of the whole video.",
            "Do not judge the video before you have viewed all its scenes.",
            "Scan the entire row of scenes.",
            "Make a table of contents of the video from its level-1 nodes.",
            "All chapters must be read, including the last.",
            "Summarise each scene in one line.",
        ],
    ),
    (
        Strategy::TraceCause,
        &[
            "Trace the action back to its cause.",
            "Look for the cause before the effect.",
            "Ask what made the person act and look at what happened earlier.",
            "Find the trigger that came before the action.",
            "Follow the chain of events backwards until you reach the reason.",
            "Identify what led to the action before judging its purpose.",
            "Work back from the result to the cause.",
            "Look at what happened just before, since it explains why.",
            "Never give a reason without having looked for the event that preceded it and caused it: search for the cause first.",
            "Determine why it happened by examining what came before.",
            "Link each effect to its cause.",
            "The cause must be found in the events that lead up to it.",
        ],
    ),
    (
        Strategy::VerifySecondNode,
        &[
            "Confirm the answer in a second node.",
            "Verify your finding with another source before submitting.",
            "Check the result against a different node.",
            "Look for independent confirmation in another scene.",
            "Do not submit before you have verified the answer elsewhere in the tree.",
            "Cross-check the number with a further node.",
            "Find a second piece of evidence that supports the answer.",
            "Every finding must be confirmed by another node.",
            "Back up the answer with evidence from a second place.",
            "Double-check the claim in a different scene.",
            "Seek another node that agrees with the first.",
            "Validate what you found with one more, independent source.",
        ],
    ),
    (
        Strategy::WatchForNegation,
        &[
            "Watch for negation in the question.",
            "Check whether the question says NOT or EXCEPT.",
            "Look out for words such as \"not\" and \"except\".",
            "Read the question twice and underline any NOT.",
            "Be careful to notice negated questions.",
            "If the question is negated, look for the one option that does not occur.",
            "Pay attention to negative wording such as \"which did NOT happen\".",
            "Scan the question for \"not\", \"never\" or \"except\".",
            "For questions with EXCEPT, find the option that has no support.",
            "Never overlook a NOT: check for it before you answer.",
            "When a question contains NOT, reverse the task.",
            "Keep an eye on negations in the wording.",
        ],
    ),
];

/// Nothing is instructed here.
const REFUSED: [&str; 44] = [
    "comparison, subtitles, frames",
    "Compare options, read subtitles, open frames, count, verify",
    "Strategies: options / subtitles / frames / timestamps / negation",
    "- compare options\n- subtitles\n- frames\n- negation",
    "# Compare every option before you answer",
    "## Read the subtitles of each event",
    "Do not compare the options.",
    "Don't bother to compare every option.",
    "Never compare the options with the evidence.",
    "There is no need to compare all four options.",
    "Comparing every option is a waste of time.",
    "Answer before you have compared the options.",
    "Answer without comparing the options.",
    "Some agents compare every option before they answer.",
    "If you compare every option, you run out of steps.",
    "Never mind the subtitles.",
    "Do not read the subtitles.",
    "Skip the subtitles.",
    "The subtitles need not be read.",
    "You can safely ignore what the speaker says.",
    "The subtitles are part of the node.",
    "Avoid opening the frames.",
    "Avoid observe_frame.",
    "There is little point in looking at the frames.",
    "Answer from the card rather than from the frames.",
    "The tool observe_frame shows frames.",
    "Do not count the items one by one.",
    "Refrain from counting every item.",
    "It is not necessary to check the timestamps.",
    "Ignore the time ranges of the events.",
    "Do not look for a negation in the question.",
    "Questions may contain NOT.",
    "Do not compare the two scenes.",
    "Forget about comparing both scenes.",
    "Do not verify the answer in a second node.",
    "Verifying the answer in another node is unnecessary.",
    "Do not read the subtitles, compare the options or open the frames.",
    "Do not trace the action back to its cause.",
    "Do not search with the words of the options.",
    "Skip the neighbouring nodes.",
    "There is no reason to fix a viewpoint.",
    "Never look through all the scenes.",
    "Do not waste steps on locating the moment that the question names.",
    "Should you compare every option before you answer?",
];

#[test]
fn every_paraphrase_teaches_its_own_strategy_and_no_other() {
    let mut wrong = Vec::new();
    for (strategy, sentences) in PARAPHRASES {
        assert!(sentences.len() >= 10, "{strategy}: too few paraphrases");
        for sentence in sentences.iter().chain(strategy.canonical()) {
            let found = strategies_in(sentence);
            if found != BTreeSet::from([strategy]) {
                wrong.push(format!("{strategy}: {sentence:?} gives {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn lists_negations_and_descriptions_teach_nothing() {
    let wrong: Vec<_> =
        REFUSED.iter().map(|text| (text, strategies_in(text))).filter(|(_, found)| !found.is_empty()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_damaging_sentence_is_recognised_and_teaches_nothing() {
    let mut wrong = Vec::new();
    for damage in Damage::ALL {
        for sentence in damage.sentences() {
            let (found, taught) = (damages_in(sentence), strategies_in(sentence));
            if found != BTreeSet::from([damage]) || !taught.is_empty() {
                wrong.push(format!("{damage}: {sentence:?} gives {found:?}, teaches {taught:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn good_advice_does_no_damage() {
    let mut wrong = Vec::new();
    for (_, sentences) in PARAPHRASES {
        wrong.extend(sentences.iter().map(|text| (*text, damages_in(text))).filter(|(_, found)| !found.is_empty()));
    }
    let warnings = [
        "Do not answer early.",
        "Never submit as soon as one option looks plausible.",
        "Do not skip the subtitles.",
        "Do not rely on general knowledge.",
        "Do not open the frames when the card already names the colour.",
        "Never choose the longest option just because it is long.",
        "Do not trust the first search result.",
        "Never guess the total.",
    ];
    wrong.extend(warnings.iter().map(|text| (*text, damages_in(text))).filter(|(_, found)| !found.is_empty()));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_bundled_skill_does_damage() {
    for (name, text) in default_skills() {
        assert!(damages_in(text).is_empty(), "{name}: {:?}", damages_in(text));
        println!("{name}: {:?}", strategies_in(text));
    }
}
/// Longer sentences, as a language model words its lessons.
const LESSONS: [(Strategy, &[&str]); 14] = [
    (
        Strategy::AnchorMoment,
        &[
            "When the question refers to a specific moment, you should first locate that moment in the tree and only afterwards look for the detail.",
            "Identify the exact scene in which the named person appears, as described in the question, and restrict your search to it.",
            "Always ground the question by finding the event it mentions before you evaluate anything.",
            "Start from the question: determine which point of the video it asks about.",
        ],
    ),
    (
        Strategy::CompareOptions,
        &[
            "Before submitting, systematically evaluate each option against the collected evidence and explicitly reject those that conflict with it.",
            "Do not settle for the first option that fits; check all remaining options as well.",
            "Once evidence is gathered, go back to the list of options and test every one of them.",
            "Make it a rule to examine all the alternatives, including the ones that look wrong.",
        ],
    ),
    (
        Strategy::CompareScenes,
        &[
            "If the question spans two parts of the video, open both scenes and contrast what they show.",
            "For questions about change, compare the first appearance of the object with its later appearance in another scene.",
            "View both events mentioned in the question and record how they differ.",
            "Place the two descriptions of the scenes side by side before concluding.",
        ],
    ),
    (
        Strategy::CountOneByOne,
        &[
            "For counting questions, enumerate every instance explicitly, noting the node id for each, rather than estimating from a summary.",
            "Keep an explicit tally and increase it each time a new item appears.",
            "Count each instance individually across all relevant events and avoid counting the same one twice.",
            "Maintain a running count of the objects while moving through the tree.",
        ],
    ),
    (
        Strategy::FixViewpoint,
        &[
            "For spatial questions, establish a single reference point (for example the camera) and express all positions relative to it.",
            "Define left and right from the viewpoint of the camera and stay consistent.",
            "State the location of each object relative to a fixed landmark in the scene.",
            "Choose one point of view at the beginning and never switch it.",
        ],
    ),
    (
        Strategy::OpenFrames,
        &[
            "Whenever the answer concerns text or a visual attribute that the captions omit, call observe_frame on the relevant level-3 nodes.",
            "If the card does not mention the colour, inspect the frames directly.",
            "Use observe_frame to verify details such as labels and numbers.",
            "For signs and displays, always open the corresponding frame before answering.",
        ],
    ),
    (
        Strategy::OpenNeighbours,
        &[
            "After locating the event, also view the immediately preceding and following nodes, because the answer often lies there.",
            "To answer what happens next, check the next sibling node of the event.",
            "Inspect adjacent nodes on the same level to see the events before and after.",
            "Always look at the node that directly follows the event in question.",
        ],
    ),
    (
        Strategy::OrderByTimestamps,
        &[
            "To determine the order of events, compare the time_range values of their nodes instead of relying on the order in which they were found.",
            "Record the start time of every event and sort them before choosing a sequence.",
            "Verify temporal order with the timestamps given in the nodes.",
            "Build a timeline: list the events in chronological order with their times.",
        ],
    ),
    (
        Strategy::ReadSubtitles,
        &[
            "Reasons and plans are usually spoken, so always read the subtitles of the relevant event before answering.",
            "Pay close attention to the dialogue in the subtitles, as it often states the motivation directly.",
            "Besides the card, check the subtitle field for what was said.",
            "Do not rely on visual descriptions alone; consult the subtitles too.",
        ],
    ),
    (
        Strategy::SearchOptionWords,
        &[
            "Use the distinctive words of each option as queries for search_similar.",
            "If the question's words return nothing, run search_similar with key phrases taken from the options.",
            "Issue a separate search for every option, using its specific terms.",
            "Search for the names that occur in the options, not only for those in the question.",
        ],
    ),
    (
        Strategy::SurveyScenes,
        &[
            "For summary questions, first read all level-1 scene summaries to get a complete overview of the video.",
            "Review every scene at the top level before deciding what the video is about.",
            "Go through the entire list of scenes from start to finish and outline the main topics.",
            "Build an overview of the whole video before choosing.",
        ],
    ),
    (
        Strategy::TraceCause,
        &[
            "For why-questions, identify the event that came before the action and caused it.",
            "Trace backwards from the action to find what triggered it.",
            "Look for the reason in the events leading up to the action.",
            "Check what happened immediately before the action to find its cause.",
        ],
    ),
    (
        Strategy::VerifySecondNode,
        &[
            "Once you have a candidate answer, verify it with at least one additional node before submitting.",
            "Seek corroborating evidence from a second, independent node.",
            "Never rely on a single node: confirm the finding in another part of the tree.",
            "Cross-check the answer against another scene in case a statement is corrected later.",
        ],
    ),
    (
        Strategy::WatchForNegation,
        &[
            "Read the question carefully and check for negations such as NOT or EXCEPT before evaluating the options.",
            "Be alert to negative phrasing; in that case look for the option that is absent from the video.",
            "If the question asks which did NOT happen, select the option without support.",
            "Always check whether the question is negated.",
        ],
    ),
];

#[test]
fn longer_lessons_teach_what_they_say() {
    let mut wrong = Vec::new();
    for (strategy, sentences) in LESSONS {
        for sentence in sentences {
            let found = strategies_in(sentence);
            if found != BTreeSet::from([strategy]) {
                wrong.push(format!("{strategy}: {sentence:?} gives {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
