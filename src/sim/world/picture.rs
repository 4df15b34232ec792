//! The frames' pictures: simple shapes, coloured areas and readable writing, as small PNG files.

use super::error::WorldError;
use super::font::{ADVANCE, HEIGHT, glyph};

/// The width of every picture, in pixels.
const PICTURE_WIDTH: usize = 192;
/// The height of every picture, in pixels.
const PICTURE_HEIGHT: usize = 108;
/// Under this keyword the PNG file says in words what it shows.
const KEYWORD: &str = "Description";

/// What a picture shows. Names are without article where they label a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Picture {
    /// A coloured area.
    Colour { thing: String, colour: Colour },
    /// One thing and a landmark.
    Place { thing: String, relation: Relation, landmark: String },
    /// So many equal things.
    Count { things: String, n: u32 },
    /// Writing on a board; `cut` hides its end.
    Sign { carrier: String, text: String, cut: bool },
    /// Things from left to right.
    Row { things: Vec<String> },
    /// One thing; `says` tells what is going on.
    Thing { label: String, says: String },
}

/// A colour that can be drawn and named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Colour {
    Red,
    Orange,
    Yellow,
    Green,
    Blue,
    Purple,
    Pink,
    Brown,
    Black,
    White,
}

impl Colour {
    pub(super) const ALL: [Self; 10] = [
        Self::Red,
        Self::Orange,
        Self::Yellow,
        Self::Green,
        Self::Blue,
        Self::Purple,
        Self::Pink,
        Self::Brown,
        Self::Black,
        Self::White,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Red => "red",
            Self::Orange => "orange",
            Self::Yellow => "yellow",
            Self::Green => "green",
            Self::Blue => "blue",
            Self::Purple => "purple",
            Self::Pink => "pink",
            Self::Brown => "brown",
            Self::Black => "black",
            Self::White => "white",
        }
    }

    fn rgb(self) -> [u8; 3] {
        match self {
            Self::Red => [205, 40, 40],
            Self::Orange => [240, 140, 30],
            Self::Yellow => [245, 215, 50],
            Self::Green => [50, 145, 65],
            Self::Blue => [50, 90, 190],
            Self::Purple => [125, 60, 155],
            Self::Pink => [240, 150, 190],
            Self::Brown => [125, 80, 45],
            Self::Black => [20, 20, 20],
            Self::White => [250, 250, 250],
        }
    }
}

/// Where one thing is relative to another, as the camera sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Left,
    Right,
    Front,
    Behind,
}

impl Relation {
    pub(super) const ALL: [Self; 4] = [Self::Left, Self::Right, Self::Front, Self::Behind];

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Left => "to the left of",
            Self::Right => "to the right of",
            Self::Front => "in front of",
            Self::Behind => "behind",
        }
    }

    pub(super) fn opposite(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
            Self::Front => Self::Behind,
            Self::Behind => Self::Front,
        }
    }
}

impl Picture {
    /// What the picture shows, in words: the only place of this knowledge outside its points.
    pub(super) fn description(&self) -> String {
        match self {
            Self::Colour { thing, colour } => format!("A picture of {thing}. Its colour is {}.", colour.name()),
            Self::Place { thing, relation, landmark } => {
                format!("Seen from the camera, {thing} is {} {landmark}.", relation.words())
            }
            Self::Count { things, n } => format!("A picture of {n} {things}."),
            Self::Sign { carrier, text, cut: false } => format!("The writing on {carrier} reads \"{text}\"."),
            Self::Sign { carrier, text, cut: true } => {
                format!("The writing on {carrier} begins with \"{}\"; the rest is cut off.", visible(text))
            }
            Self::Row { things } => format!("From left to right: {}.", things.join(", ")),
            Self::Thing { says, .. } => says.clone(),
        }
    }

    /// The picture as a PNG file of a few hundred bytes, with its description inside.
    pub(super) fn png(&self, frame: &str) -> Result<Vec<u8>, WorldError> {
        let mut canvas = Canvas::new();
        self.draw(&mut canvas);
        canvas.encode(&self.description()).map_err(|source| WorldError::Picture { frame: frame.to_owned(), source })
    }

    fn draw(&self, canvas: &mut Canvas) {
        match self {
            Self::Colour { thing, colour } => {
                let ink = canvas.ink(colour.rgb());
                canvas.frame_box(56, 12, 80, 60, ink);
                canvas.label(thing, 96, 82);
            }
            Self::Place { thing, relation, landmark } => draw_place(canvas, thing, *relation, landmark),
            Self::Count { things, n } => draw_count(canvas, things, *n),
            Self::Sign { text, cut, .. } => {
                let board = canvas.ink([252, 250, 240]);
                canvas.frame_box(10, 12, 172, 84, board);
                canvas.writing(if *cut { visible(text) } else { text }, 96, 54);
            }
            Self::Row { things } => {
                let width = PICTURE_WIDTH / things.len().max(1);
                for (place, thing) in things.iter().enumerate() {
                    let ink = canvas.ink(Colour::ALL.get(place * 3 % 10).copied().unwrap_or(Colour::Red).rgb());
                    canvas.frame_box(place * width + 6, 24, width - 12, 40, ink);
                    canvas.label(thing, place * width + width / 2, 72 + (place % 2) * 14);
                }
            }
            Self::Thing { label, .. } => {
                let ink = canvas.ink([150, 165, 175]);
                canvas.frame_box(66, 20, 60, 46, ink);
                canvas.label(label, 96, 78);
            }
        }
    }
}

/// The part of a text that a picture shows when its end is cut off.
fn visible(text: &str) -> &str {
    let keep = text.chars().count() * 3 / 5;
    text.char_indices().nth(keep).and_then(|(at, _)| text.get(..at)).unwrap_or(text).trim_end()
}

fn draw_place(canvas: &mut Canvas, thing: &str, relation: Relation, landmark: &str) {
    let (big, small) = (canvas.ink([140, 150, 160]), canvas.ink([220, 120, 50]));
    match relation {
        Relation::Left | Relation::Right => {
            let (thing_at, landmark_at) = if relation == Relation::Left { (14, 104) } else { (134, 24) };
            canvas.frame_box(landmark_at, 20, 66, 56, big);
            canvas.frame_box(thing_at, 40, 44, 36, small);
            canvas.label(landmark, landmark_at + 33, 80);
            canvas.label(thing, thing_at + 22, 94);
        }
        Relation::Front => {
            canvas.frame_box(50, 8, 92, 60, big);
            canvas.frame_box(74, 46, 44, 36, small);
            canvas.label(landmark, 96, 14);
            canvas.label(thing, 96, 88);
        }
        Relation::Behind => {
            canvas.frame_box(74, 12, 44, 40, small);
            canvas.frame_box(50, 34, 92, 54, big);
            canvas.label(thing, 96, 2);
            canvas.label(landmark, 96, 92);
        }
    }
}

fn draw_count(canvas: &mut Canvas, things: &str, n: u32) {
    let ink = canvas.ink([90, 110, 160]);
    let columns = if n > 10 { 6 } else { 5 };
    for item in 0..usize::try_from(n).unwrap_or(0) {
        // A little out of line, as things are.
        let (x, y) = (14 + item % columns * 34 + item * 7 % 5, 8 + item / columns * 26 + item * 5 % 6);
        canvas.frame_box(x, y, 20, 17, ink);
    }
    canvas.label(things, 96, 94);
}

/// What a picture of the simulated world shows, in words; none for other files.
#[must_use]
pub fn describe_picture(png: &[u8]) -> Option<String> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
    decoder.set_ignore_text_chunk(false);
    let reader = decoder.read_info().ok()?;
    let chunk = reader.info().uncompressed_latin1_text.iter().find(|chunk| chunk.keyword == KEYWORD)?;
    Some(chunk.text.clone())
}

/// Points of a palette of sixteen colours.
struct Canvas {
    points: Vec<u8>,
    palette: Vec<[u8; 3]>,
}

const PAPER: u8 = 0;
const LINE: u8 = 1;

impl Canvas {
    fn new() -> Self {
        let points = vec![PAPER; PICTURE_WIDTH * PICTURE_HEIGHT];
        Self { points, palette: vec![[226, 228, 222], [35, 35, 40]] }
    }

    /// The palette place of a colour; the sixteen places are never used up by the pictures of this module.
    fn ink(&mut self, rgb: [u8; 3]) -> u8 {
        let place = self.palette.iter().position(|known| *known == rgb).unwrap_or_else(|| {
            self.palette.push(rgb);
            self.palette.len() - 1
        });
        u8::try_from(place).unwrap_or(LINE).min(15)
    }

    fn set(&mut self, x: usize, y: usize, ink: u8) {
        if x < PICTURE_WIDTH
            && let Some(point) = self.points.get_mut(y * PICTURE_WIDTH + x)
        {
            *point = ink;
        }
    }

    fn frame_box(&mut self, left: usize, top: usize, width: usize, height: usize, ink: u8) {
        for y in top..top + height {
            for x in left..left + width {
                let edge = x == left || y == top || x + 1 == left + width || y + 1 == top + height;
                self.set(x, y, if edge { LINE } else { ink });
            }
        }
    }

    fn text(&mut self, text: &str, left: usize, top: usize, scale: usize) {
        for (place, letter) in text.chars().enumerate() {
            for (row, bits) in glyph(letter).into_iter().enumerate() {
                for column in 0..5 {
                    if bits >> (4 - column) & 1 == 1 {
                        let (x, y) = (left + (place * ADVANCE + column) * scale, top + row * scale);
                        for dot in 0..scale * scale {
                            self.set(x + dot % scale, y + dot / scale, LINE);
                        }
                    }
                }
            }
        }
    }

    /// A small text centred at `x`, without its article.
    fn label(&mut self, text: &str, x: usize, top: usize) {
        let text = bare(text);
        let most = PICTURE_WIDTH / ADVANCE;
        let shown: String = text.chars().take(most).collect();
        let width = shown.chars().count() * ADVANCE;
        let left = x.saturating_sub(width / 2).min(PICTURE_WIDTH.saturating_sub(width));
        self.text(&shown, left, top, 1);
    }

    /// Large writing in up to three lines around the middle.
    fn writing(&mut self, text: &str, x: usize, middle: usize) {
        const MOST: usize = 13;
        let mut lines: Vec<String> = vec![String::new()];
        for word in text.split_whitespace() {
            let fits = lines.last().is_some_and(|line| line.is_empty() || line.len() + 1 + word.len() <= MOST);
            match lines.last_mut() {
                Some(line) if fits => {
                    if !line.is_empty() {
                        line.push(' ');
                    }
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        let pitch = (HEIGHT + 3) * 2;
        let top = middle.saturating_sub(lines.len() * pitch / 2);
        for (row, line) in lines.iter().enumerate() {
            let width = line.chars().count() * ADVANCE * 2;
            self.text(line, x.saturating_sub(width / 2), top + row * pitch, 2);
        }
    }

    fn encode(self, description: &str) -> Result<Vec<u8>, png::EncodingError> {
        let mut bytes = Vec::new();
        let size = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let mut encoder = png::Encoder::new(&mut bytes, size(PICTURE_WIDTH), size(PICTURE_HEIGHT));
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_depth(png::BitDepth::Four);
        encoder.set_palette(self.palette.concat());
        encoder.set_compression(png::Compression::High);
        encoder.add_text_chunk(KEYWORD.to_owned(), description.to_owned())?;
        let mut writer = encoder.write_header()?;
        let packed: Vec<u8> = self
            .points
            .chunks(2)
            .map(|pair| pair.first().copied().unwrap_or(PAPER) << 4 | pair.get(1).copied().unwrap_or(PAPER))
            .collect();
        writer.write_image_data(&packed)?;
        writer.finish()?;
        Ok(bytes)
    }
}

/// Without a leading article.
pub(super) fn bare(text: &str) -> &str {
    ["the ", "a ", "an "].iter().find_map(|article| text.strip_prefix(article)).unwrap_or(text)
}
