//! Which patterns of words stand for which strategy and which damage.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::damage::Damage;
use super::instruction::{Mood, Pattern};
use super::sentence::{Sentence, sentences};
use super::strategy::Strategy;

/// The strategies that a text asks for.
pub(super) fn asked(text: &str) -> BTreeSet<Strategy> {
    let sentences = sentences(text);
    STRATEGIES
        .iter()
        .filter(|(_, patterns)| sentences.iter().any(|sentence| strongest(patterns, sentence) == Some(Mood::Asked)))
        .map(|(strategy, _)| *strategy)
        .collect()
}

/// The damages that a text asks for, or commits by forbidding a strategy without a condition.
pub(super) fn damaging(text: &str) -> BTreeSet<Damage> {
    let sentences = sentences(text);
    let mut found: BTreeSet<Damage> = DAMAGES
        .iter()
        .filter(|(_, patterns)| sentences.iter().any(|sentence| strongest(patterns, sentence) == Some(Mood::Asked)))
        .map(|(damage, _)| *damage)
        .collect();
    for (strategy, patterns) in STRATEGIES.iter() {
        let Some(damage) = damage_of_forbidding(*strategy) else { continue };
        let forbids =
            |sentence: &Sentence| !conditional(sentence) && strongest(patterns, sentence) == Some(Mood::Forbidden);
        if sentences.iter().any(forbids) {
            found.insert(damage);
        }
    }
    found
}

fn strongest(patterns: &[Pattern], sentence: &Sentence) -> Option<Mood> {
    patterns.iter().filter_map(|pattern| pattern.mood(sentence)).max()
}

fn conditional(sentence: &Sentence) -> bool {
    const CONDITIONS: [&str; 9] = ["if", "when", "unless", "only", "already", "where", "until", "once", "before"];
    sentence.tokens.iter().any(|token| CONDITIONS.contains(&token.word.as_str()))
}

fn damage_of_forbidding(strategy: Strategy) -> Option<Damage> {
    match strategy {
        Strategy::ReadSubtitles => Some(Damage::SkipSubtitles),
        Strategy::OpenFrames => Some(Damage::SkipFrames),
        Strategy::CountOneByOne => Some(Damage::EstimateCounts),
        Strategy::WatchForNegation => Some(Damage::IgnoreNegation),
        Strategy::OrderByTimestamps => Some(Damage::TrustResultOrder),
        Strategy::CompareOptions => Some(Damage::AnswerEarly),
        Strategy::AnchorMoment
        | Strategy::CompareScenes
        | Strategy::FixViewpoint
        | Strategy::OpenNeighbours
        | Strategy::SearchOptionWords
        | Strategy::SurveyScenes
        | Strategy::TraceCause
        | Strategy::VerifySecondNode => None,
    }
}

type Table<T> = LazyLock<Vec<(T, Vec<Pattern>)>>;

static STRATEGIES: Table<Strategy> =
    LazyLock::new(|| Strategy::ALL.iter().map(|strategy| (*strategy, parse(strategy_patterns(*strategy)))).collect());

static DAMAGES: Table<Damage> =
    LazyLock::new(|| Damage::ALL.iter().map(|damage| (*damage, parse(damage_patterns(*damage)))).collect());

fn parse(patterns: &[&str]) -> Vec<Pattern> {
    patterns.iter().map(|notation| Pattern::parse(notation)).collect()
}

#[expect(clippy::too_many_lines, reason = "a table: one entry for each strategy")]
fn strategy_patterns(strategy: Strategy) -> &'static [&'static str] {
    match strategy {
        Strategy::AnchorMoment => &[
            "locate|find|pin down|identify|anchor|fix|establish|determine|work out|settle|place|seek|look for|get to|jump to|navigate to|go to|make out; \
             moment*|scene*|event*|point|passage|instant|occasion*|spot|part|person; \
             +question*|asked|asks|mention*|refer*; !second|caus*|reason*|trigger*|led|count*|viewpoint|reference|landmark*",
            "clarify|decide|make clear|settle|determine; which; moment*|scene*|event*|occasion*|person; +question*|asked|meant|means",
            "tie|anchor|pin; question*; to|down; +moment*|scene*|event*|point|place|passage|time",
        ],
        Strategy::CompareOptions => &[
            "compare|weigh|contrast|judge|evaluate|assess|test|examine|consider|check|go through|run through|work through|walk through|measure|match|hold|score|rate|review|scrutinise|scrutinize|set|look at|take|try|inspect|confront; \
             each|every|all|both|four|remaining|any|other|single; option*|choice*|candidate*|alternative*; !search*|query|queries|words of|wording",
            "compare|weigh|contrast|match|hold|set|check|test|measure|judge|examine|go through|work through|run through; option*|choice*|candidate*|alternative*; \
             with|against|to|before|one by one|one after|one another|in turn|beside|until; !search*|query|queries|words of|wording|time*",
            "rule out|eliminate|strike out|cross out|exclude|discard|strike|reject; option*|choice*|candidate*|alternative*|three|other; \
             +each|every|one by one|others|wrong|remain*|left|until|contradict*|with|because",
            "give|find|state|write|note|say|list|name|explain|record|ask|argue; each|every|all; option*|choice*|candidate*|alternative*; \
             +reason|evidence|why|verdict|for|fits|supports|whether; !search*|query|words|wording",
            "compare|test|check|evaluate|weigh|examine|judge; each|every|all; of them|one of them|one; +option*|choice*|candidate*|alternative*; !search*|query|words|wording",
            "say|state|note|explain|write; why|whether|what; +for; +each|every; +option*|choice*|candidate*|alternative*; !search*|query",
        ],
        Strategy::CompareScenes => &[
            "compare|contrast; both|two|earlier|later|first|the; scene*|event*|moment*|node*|occasion*|appearance*|passage*|situation*|part*|place*; \
             !option*|choice*|candidate*|alternative*|time*|start|starts|order",
            "open|view|look at|read|visit|inspect|examine|check|study|fetch|see; both|two; scene*|event*|moment*|node*|passage*|occasion*|place*|end*|part*; \
             !option*|choice*|time*|order|neighbour*|neighbor*|before and after",
            "put|set|lay|hold|place|line up|view|consider|examine|read; scene*|event*|moment*|node*|passage*|occasion*|appearance*|description*|one; \
             side by side|next to|beside|against the other|against one|against each|together with; !option*|choice*|time*",
            "note|write down|list|work out|look for|spot|find|ask|see|record|determine; differ*|changed|changes|change; between|from; \
             +scene*|both|two|earlier|moment*|event*; !option*|choice*",
        ],
        Strategy::CountOneByOne => &[
            "count|tally|enumerate|number; one by one|each|every|individual*|separate*|singly|one at; !option*|choice*|search*",
            "keep|maintain|make|write|start|build|hold; tally|running list|running count|running total|numbered list|count; +count*|item*|instance*|occurrence*|total|number*|time*|piece*|appearance*|entry|object*|one",
            "add|note|mark|record|log|tick off|put|write|draw|tick; one|mark|stroke|line|entry|off; for|every|each; each|every|item|instance*|occurrence*|appearance*|object*; \
             +item*|instance*|occurrence*|appearance*|object*|count*|tally|total|further|new",
            "list; each|every|all; item*|instance*|occurrence*|appearance*|object*|thing*; +count*|total|number|tally",
        ],
        Strategy::FixViewpoint => &[
            "fix|choose|pick|adopt|state|define|use|take|establish|decide|settle|select|keep|agree; \
             viewpoint|vantage|landmark*|reference point|reference|perspective|standpoint|point of view|frame of reference|fixed object*|fixed point*; !time*|option*",
            "describe|record|note|write|give|state|measure|judge|name|work out|express|determine|read|say|place|define|report|specify|translate|map|locate; \
             position*|place|places|left|right|location*|direction*|where|everything|object*|relation*; \
             from|relative|with respect|seen|by|to; camera*|viewer*|landmark*|fixed|viewpoint|reference|perspective|it|one|vantage|same; \
             +camera*|viewer*|landmark*|fixed|viewpoint|reference|perspective|vantage",
        ],
        Strategy::OpenFrames => &[
            "open|observe|inspect|look at|look into|examine|view|use|call|request|ask for|zoom into|zoom in|study|check|go down|descend|fetch|load|see|consult|step down|drill down|turn to|read|visit|run|invoke|search|scan|pull up|bring up|go|go to; \
             frame*|observe_frame|stills|still image*|still frame*|image|images|picture|pictures|level-3|key-frame*|keyframe*|screenshot*; !frame of reference|time frame",
        ],
        Strategy::OpenNeighbours => &[
            "open|view|look at|look to|check|read|visit|inspect|examine|step to|go to|move to|include|see|consult|walk to|take in|explore|study|cover|glance at; \
             neighbour*|neighbor*|sibling*|adjacent; !cause*|reason*",
            "open|view|look at|check|read|visit|inspect|examine|step to|go to|move to|include|see|consult|study|cover|take; \
             before|previous|preceding|prior|earlier|precedes; after|next|following|later|follows|succeeding; \
             +node*|scene*|event*|one; !cause*|reason*|why|option*|compare*|contrast|time*|order",
            "open|view|look at|check|read|visit|inspect|examine|step to|go to|move to|go on to|move on to|see|consult; \
             next|previous|preceding|following|adjoining; node|event|scene|sibling|one; +node*|scene*|event*|sibling*; !cause*|reason*|why",
            "open|view|look at|check|read|visit|inspect|examine|see|find out|ask; node|event|scene|what; directly|right|just|immediately; after|before|follows|precedes; \
             !cause*|reason*|why|trigger*|led|made|answer*|submit*",
            "step|move|go|look; one; node|event|scene|place; forward*|back*|ahead|on|either; !cause*|reason*",
        ],
        Strategy::OrderByTimestamps => &[
            "check|compare|use|read|sort|order|look at|verify|confirm|settle|establish|consult|note|rely on|line up|arrange|write down|put|go by|decide|determine|derive|take|work out|trust|rank|place|list|record|collect|let|follow|fix|look up; \
             timestamp*|time-stamp*|time_range*|time range*|time-range*|start time*|starting time*|timeline|time line|clock time*|chronolog*|timecode*|start and end|times of|time of each|times at which|starts",
            "sort|order|arrange|line up|rank|put|place|list; event*|step*|node*|scene*|moment*|them|action*|happening*; by|in|into|according|on; time*|when|start*|chronolog*|clock",
        ],
        Strategy::ReadSubtitles => &[
            "read|check|consult|open|study|look at|look through|look in|use|scan|search|inspect|include|turn to|go to|quote|take|follow|examine|listen to|rely on|draw on|request|ask for|fetch|note|review|attend to|go through|pay attention|go over|watch; \
             subtitle*|transcript*|dialogue*|dialog|speech|spoken|narration|commentary|voice-over|remark*; !frame*|negation|time*",
            "listen|attend|pay attention|note|find out|check|look for|read|search for|write down|see|quote|follow|look up|take|hear; \
             what|to|words; is|was|are|people|person|speaker*|somebody|someone|they|everybody|participant*|character*|narrator|presenter|in; \
             say*|said|told|tell*|explain*|spoken|announce*|talk*|speak*; !option*|question|sign*|cause*|trigger*",
            "look for|find|search for|hunt for|seek; spoken|said; remark*|word*|explanation*|reason*|statement*|line*|aloud",
        ],
        Strategy::SearchOptionWords => &[
            "search|query|look up|look for|run|use|call|try|feed|put|enter|give|send|type|pass|issue|start|make|take; \
             +option*|choice*|candidate*|alternative*; +word*|wording*|phras*|term*|text*|noun*|name*|vocabulary|expression*; +search*|query|queries",
            "search|query|run search_similar|call search_similar|use search_similar; \
             each|every|all|option*|choice*|candidate*|alternative*; option*|choice*|candidate*|alternative*|turn|separately; !compare",
        ],
        Strategy::SurveyScenes => &[
            "skim|survey|read|view|open|visit|look at|look through|look over|go through|go over|walk through|scan|cover|browse|page through|run through|check|list|write|note|outline|summarise|summarize|take in|pass through|glance at|work through|sample|tour|step through|touch|review; \
             all|every|each|whole|entire|complete; scene*|level-1|root*|chapter*|section*|top-level; \
             !count*|tally|total|number of|time*|option*|choice*|compare*",
            "get|build|make|draw|gain|form|draft|write|sketch|obtain|prepare; outline|overview|table of contents|synopsis; +scene*|video|whole|level-1|entire|chapter*|tree; !option*",
        ],
        Strategy::TraceCause => &[
            "trace|follow|work|go|look|move|step|reason|walk; back|backward*|backwards; +cause*|reason|reasons|why|led|trigger*|lead|leads|made|because|set off|prompted|brought; !option*",
            "look for|find|identify|establish|seek|search for|ask|determine|name|locate|pin down|trace|look at|discover|check|work out|look up|note; \
             cause|causes|reason|reasons|trigger*|why|motive*|what made|what led|what caused|what prompted|what set; \
             +before|earlier|preced*|prior|led|leading|back|first|caused|prompted|up to|beforehand; !option*|why it fits",
            "look for|find|identify|locate|search for|check|seek; event*|what|moment*|action*; \
             +before|earlier|preced*|prior|led|leading|beforehand; +caus*|trigger*|led to|why|reason|prompted; !option*",
            "look at|open|check|read|view|examine|see|inspect|study; what|event|node|minute*|moment*; happen*|before|preced*|led|leads|leading; \
             +cause*|reason|why|trigger*|led|leads|leading|explain*|because|motive*; !option*|neighbour*|sibling*",
            "connect|link|attribute|tie; action*|effect*|result*|reaction*; to|with; cause|causes|earlier|preced*|trigger|reason|what",
        ],
        Strategy::VerifySecondNode => &[
            "verify|confirm|check|corroborate|double-check|cross-check|back up|support|prove|validate|re-check|recheck|test|back|secure|substantiate; \
             second|another|other|further|independent|different|separate|additional|two|somewhere|elsewhere; \
             node*|scene*|place*|source*|passage*|event*|frame*|evidence|else|elsewhere|before|part|nodes|spot; !option*|choice*|neighbour*",
            "verify|confirm|corroborate|double-check|cross-check|validate|re-check|recheck; elsewhere",
            "look for|find|seek|get|open|obtain|demand|require|insist on|ask for|gather|visit|have|collect|rest on|need|name|cite|want; \
             second|another|further|independent|additional|two; confirm*|source*|evidence|proof|witness*|support|node*|place*|passage*|piece*|statement*; \
             +confirm*|agree*|support*|verif*|same|before|submit*|trust*|independent*|proof|witness*|answer*; !option*|neighbour*|time*|compare*|previous|next|after",
        ],
        Strategy::WatchForNegation => &[
            "look for|watch for|watch out|watch|check|notice|spot|beware|read|note|underline|mark|heed|pay attention|look out|scan|see|find|mind|be alert|keep eye|make sure|search|test|ask; \
             =not|=except|=never|=least|=no|=none|=without|negation*|negative*|negated|negating|not-question*; !subtitle*",
            "ask|turn|flip|reverse|invert|remember|switch|look for|search for|find|choose|pick|select|take|seek|swap|search; \
             question|search|task|logic|option|one|opposite|exception|what|aim|that|answer|it|odd; \
             +=not|=except|negation*|negative*|negated|=never|=least|=none|not-question*|exclud*; !subtitle*",
        ],
    }
}

fn damage_patterns(damage: Damage) -> &'static [&'static str] {
    match damage {
        Damage::AnswerEarly => &[
            "answer|submit|decide|choose|commit|finish|stop|settle|reply|respond|conclude; immediately|at once|early|right away|straight away|quickly|hastily|instantly|as fast",
            "answer|submit|decide|choose|commit|finish|stop|settle|reply|respond|conclude|pick|take|accept|select|go; as soon as|after|first|at the; plausible|first|one node|single|likely|reasonable|seems|looks|glance|sounds; !node just|scene|negat*|locate|survey|result*|hit|hits|moment*|all|every|both|two",
        ],
        Damage::EstimateCounts => &[
            "estimate|guess|approximate|round|judge; number*|total*|count*|amount*|how many; !option*",
            "make|take|use|give; guess|estimate|approximation|rough; +number*|total*|count*|how many",
        ],
        Damage::IgnoreNegation => &[
            "treat|handle|read|answer; negated|negative|=not|=except; like|as|the same; +positive|ordinary|usual|same|normal|other",
        ],
        Damage::PickByForm => &[
            "choose|pick|prefer|select|guess|take|favour|favor; longest|shortest|most detailed|middle|last option|option a|option b|option c|option d|letter a|letter b|letter c|letter d|most specific|a random|any option|at random",
        ],
        Damage::RelyOnHabit => &[
            "rely on|use|trust|answer|go by|draw on|fall back|decide|depend on; general knowledge|common sense|experience|world knowledge|usual|usually|typical*|what is likely|prior knowledge|intuition|gut|memory",
        ],
        Damage::SkipFrames => &[
            "skip|avoid|ignore|omit|forget|disregard|bypass|leave; frame*|observe_frame|picture|pictures|image|images|stills; !unless|only if|when the card",
        ],
        Damage::SkipSubtitles => &[
            "skip|avoid|ignore|omit|forget|disregard|bypass|leave|neglect; subtitle*|transcript*|dialogue|spoken|speech|narration|what the speaker|what is said|what people say; !unless",
        ],
        Damage::TrustFirstHit => {
            &["trust|take|accept|use|believe|rely on|go with; first|top|best|highest; hit|result|search result|match; \
             !each|every|compare|verify|confirm"]
        }
        Damage::TrustResultOrder => &[
            "take|trust|use|assume|treat|follow|read; order; +search result*|results|options list|listed|options are; !not",
            "ignore|skip|disregard|neglect|forget|omit; time range*|timestamp*|time_range*|start time*",
        ],
    }
}
