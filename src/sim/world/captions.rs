//! How captions are worded: templates in a shuffled order, so that neighbours differ.

use rand::seq::SliceRandom;

use super::grammar::{sentence_case, share_words};
use super::people::Person;
use super::stage::Act;
use crate::domain::SeedRng;

/// The wordings of one video, each stack shuffled and used from the top.
pub(super) struct Captions {
    events: Vec<EventWording>,
    frames: Vec<FrameWording>,
    close_ups: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EventWording {
    Plain,
    AtSpot,
    BusyAtSpot,
    Busy,
    WeSee,
    Now,
    StaysOn,
    LooksOn,
    Here,
    MovesTo,
    IntoView,
    Later,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FrameWording {
    CloseUp,
    Side,
    Profile,
    Focus,
    IntoCamera,
    Watched,
    Shoulder,
    Wide,
    Back,
    Both,
    HalfOut,
    Below,
    Above,
    Lower,
    Reflection,
    Distance,
    Busy,
    Foreground,
    Unsharp,
    Corner,
    Sleeves,
    Tilt,
    Quiet,
    Light,
    Door,
    Turning,
}

impl Captions {
    pub(super) fn new(rng: &mut SeedRng) -> Self {
        use EventWording as E;
        use FrameWording as F;
        let mut events = vec![
            E::Plain,
            E::Plain,
            E::Plain,
            E::Plain,
            E::Plain,
            E::AtSpot,
            E::AtSpot,
            E::AtSpot,
            E::AtSpot,
            E::BusyAtSpot,
            E::BusyAtSpot,
            E::Busy,
            E::WeSee,
            E::Now,
            E::StaysOn,
            E::LooksOn,
            E::LooksOn,
            E::Here,
            E::MovesTo,
            E::IntoView,
            E::Later,
            E::Plain,
            E::AtSpot,
            E::Plain,
            E::AtSpot,
        ];
        let mut frames = vec![
            F::CloseUp,
            F::CloseUp,
            F::Side,
            F::Side,
            F::Profile,
            F::Focus,
            F::IntoCamera,
            F::Watched,
            F::Watched,
            F::Shoulder,
            F::Wide,
            F::Wide,
            F::Back,
            F::Both,
            F::HalfOut,
            F::Below,
            F::Above,
            F::Lower,
            F::Reflection,
            F::Distance,
            F::Busy,
            F::Busy,
            F::Foreground,
            F::Unsharp,
            F::Corner,
            F::Sleeves,
            F::Tilt,
            F::Quiet,
            F::Light,
            F::Door,
            F::Turning,
        ];
        let mut close_ups: Vec<usize> = (0..CLOSE_UPS.len()).collect();
        events.shuffle(rng);
        frames.shuffle(rng);
        close_ups.shuffle(rng);
        Self { events, frames, close_ups }
    }

    /// The caption of an event, and the spot it names, which is then taken from the list.
    pub(super) fn event(
        &mut self,
        actor: Person,
        act: &Act,
        others: &[Person],
        spots: &mut Vec<String>,
    ) -> (String, Option<String>) {
        use EventWording as E;
        let name = actor.name;
        let (third, ing) = (act.third(actor), act.ing(actor));
        let wording = self.take_event(others.is_empty(), spots.is_empty());
        let apart = spots.iter().rposition(|spot| !share_words(spot, &act.base_with_tool(actor)));
        let spot = apart.filter(|_| matches!(wording, E::AtSpot | E::BusyAtSpot)).map(|place| spots.remove(place));
        let caption = match (wording, &spot, others.first()) {
            (E::AtSpot, Some(spot), _) => format!("{}, {name} {third}.", sentence_case(spot)),
            (E::BusyAtSpot, Some(spot), _) => format!("{}, {name} is {ing}.", sentence_case(spot)),
            (E::Busy, ..) => format!("{name} is {ing}."),
            (E::WeSee, ..) => format!("We see {name} {ing}."),
            (E::Now, ..) => format!("Now {name} {third}."),
            (E::StaysOn, ..) => format!("The camera stays on {name}, who {third}."),
            (E::LooksOn, _, Some(other)) => format!("{name} {third}, and {} looks on.", other.name),
            (E::Here, ..) => format!("Here {name} {third}."),
            (E::MovesTo, ..) => format!("The camera moves to {name}, who is {ing}."),
            (E::IntoView, ..) => format!("{name} comes into view and {third}."),
            (E::Later, ..) => format!("A little later {name} {third}."),
            (E::Plain | E::AtSpot | E::BusyAtSpot | E::LooksOn, ..) => format!("{name} {third}."),
        };
        (caption, spot)
    }

    fn take_event(&mut self, alone: bool, nowhere: bool) -> EventWording {
        use EventWording as E;
        let fits = |wording: &EventWording| match wording {
            E::LooksOn => !alone,
            E::AtSpot | E::BusyAtSpot => !nowhere,
            E::Plain | E::Busy | E::WeSee | E::Now | E::StaysOn | E::Here | E::MovesTo | E::IntoView | E::Later => true,
        };
        let place = self.events.iter().rposition(fits);
        place.map_or(E::Plain, |place| self.events.remove(place))
    }

    /// The first sentence of a frame's caption. A close-up of the hands leaves open what they hold.
    pub(super) fn frame(&mut self, actor: Person, act: &Act, others: &[Person], place: &str, close_up: bool) -> String {
        use FrameWording as F;
        let (name, his) = (actor.name, actor.his());
        if close_up {
            let template =
                self.close_ups.pop().and_then(|at| CLOSE_UPS.get(at)).copied().unwrap_or("The hands of @, close up.");
            return template.replace('@', name);
        }
        let ing = act.short_ing(actor);
        let thing = act.thing.as_deref();
        let wording = self.take_frame(others.is_empty(), thing.is_none());
        match (wording, thing, others.first()) {
            (F::CloseUp, Some(thing), _) => format!("A close-up of {thing}."),
            (F::Side, ..) => format!("{name}, seen from the side, {ing}."),
            (F::Profile, Some(thing), _) => format!("{name} in profile, with {thing} at the front of the picture."),
            (F::Focus, Some(thing), _) => format!("{} in sharp focus, {name} blurred behind.", sentence_case(thing)),
            (F::IntoCamera, ..) => format!("{name} pauses and looks into the camera."),
            (F::Watched, _, Some(other)) => format!("{} watches from the edge of the picture.", other.name),
            (F::Shoulder, ..) => format!("The camera looks over {name}'s shoulder."),
            (F::Wide, ..) => format!("A wide view of {place}, with {name} in the middle."),
            (F::Back, ..) => format!("{name} from behind, bent over {his} work."),
            (F::Both, _, Some(other)) => format!("{name} and {} share the picture.", other.name),
            (F::HalfOut, ..) => format!("{name} is half out of the picture, {ing}."),
            (F::Below, ..) => format!("The camera looks up at {name} from below."),
            (F::Above, Some(thing), _) => format!("{} from straight above.", sentence_case(thing)),
            (F::Lower, ..) => format!("Only {name}'s arms can be seen."),
            (F::Reflection, ..) => format!("{name} holds still for a moment."),
            (F::Distance, ..) => format!("{name} at some distance, {ing}."),
            (F::Busy, ..) => format!("{name}, {ing}."),
            (F::Foreground, ..) => format!("{name} in the foreground, {ing}."),
            (F::Unsharp, ..) => format!("The picture is slightly unsharp; {name} is {ing}."),
            (F::Corner, ..) => format!("{name} in the corner of the picture, {ing}."),
            (F::Sleeves, ..) => format!("{name} has pushed {his} sleeves up."),
            (F::Tilt, ..) => format!("A tilted view; {name} is {ing}."),
            (F::Quiet, ..) => format!("{name} does not speak and keeps {his} eyes on the work."),
            (F::Light, ..) => format!("{name} against the light."),
            (F::Door, ..) => format!("A glimpse of {place}, {name} at the edge."),
            (F::Turning, ..) => format!("{name} turns {his} head to say something."),
            (F::CloseUp | F::Profile | F::Focus | F::Watched | F::Both | F::Above, ..) => {
                format!("{name} in the middle of the picture.")
            }
        }
    }

    fn take_frame(&mut self, alone: bool, no_thing: bool) -> FrameWording {
        use FrameWording as F;
        let fits = |wording: &FrameWording| match wording {
            F::Watched | F::Both => !alone,
            F::CloseUp | F::Profile | F::Focus | F::Above => !no_thing,
            F::Side | F::IntoCamera | F::Shoulder | F::Wide | F::Back | F::HalfOut | F::Below | F::Lower => true,
            F::Reflection | F::Distance | F::Busy | F::Foreground | F::Unsharp | F::Corner | F::Sleeves | F::Tilt => {
                true
            }
            F::Quiet | F::Light | F::Door | F::Turning => true,
        };
        let place = self.frames.iter().rposition(fits);
        place.map_or(F::Busy, |place| self.frames.remove(place))
    }
}

const CLOSE_UPS: [&str; 10] = [
    "@'s hands, close up.",
    "The hands of @ fill the picture.",
    "The camera is very close to @'s fingers.",
    "A close shot of what @ is holding.",
    "@'s right hand in the foreground.",
    "@ leans over the work, and the camera comes close.",
    "Detail of the work, with @'s sleeve at the edge.",
    "@ holds something close to the lens.",
    "The lens follows @'s hand.",
    "A detail: @ at work, seen from very near.",
];
