//! `trm gate calibrate`: the noise of answering twice, and what it means for the configured gate.

use super::super::settings::ConfigArgs;
use super::super::table::table;
use super::super::text::wrapped;
use super::super::{CliError, Context};
use crate::harness::gate_calibration::{Calibration, calibrate};
use crate::store::StoreReader;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let opened = args.config.load(context, Vec::new())?;
    let snapshot = StoreReader::open(opened.workspace.store())?.snapshot()?;
    let result = calibrate(&snapshot, &opened.loaded.config)?;
    drop(snapshot);
    if context.json() { context.write_json(&result) } else { show(&result, context) }
}

fn show(result: &Calibration, context: &mut Context) -> Result<(), CliError> {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let total = &result.total;
    if let Some(noise) = total.noise {
        let text = format!(
            "{} pairs of answers by the same skill: {} gained, {} lost; {} of the units flip each way by noise alone \
             (95 % interval {} to {})",
            total.pairs,
            total.gained,
            total.lost,
            percent(noise.estimate),
            percent(noise.low),
            percent(noise.high)
        );
        context.line(wrapped(&text, context.width(), 0))?;
    }
    let header = [
        "TASK TYPE",
        "PAIRS",
        "TIES",
        "NOISE",
        "UNITS",
        "FALSE",
        "+10: POWER",
        "+20: POWER",
        "QUESTIONS",
        "UNITS FOR 80 %",
    ];
    let rows = result.by_type.iter().map(|(name, of_type)| {
        let power =
            |place: usize| of_type.gains.get(place).map_or_else(|| "-".to_owned(), |row| percent(row.accept_confirmed));
        let needed: Vec<String> = of_type
            .units_needed
            .iter()
            .map(|units| units.map_or_else(|| "over 320".to_owned(), |units| units.to_string()))
            .collect();
        let questions =
            of_type.gains.first().map_or_else(|| "-".to_owned(), |row| format!("{:.0}", row.expected_questions));
        [
            name.to_string(),
            of_type.noise.pairs.to_string(),
            of_type.noise.ties.map_or_else(|| "-".to_owned(), percent),
            of_type.noise.noise.map_or_else(|| "-".to_owned(), |noise| percent(noise.estimate)),
            of_type.n_max.to_string(),
            of_type.no_effect.map_or_else(|| "-".to_owned(), |row| percent(row.accept_confirmed)),
            power(0),
            power(1),
            questions,
            needed.join(" / "),
        ]
    });
    let text = table(header, rows.collect(), context.width());
    context.line(text)?;
    let note = "FALSE: confirmed although nothing improved. POWER: confirmed when the true gain is 10 or 20 points. \
                UNITS FOR 80 %: the ladder that confirms such gains in 80 % of gates. With few pairs take the upper end \
                of the interval: 'trm gate simulate --noise'.";
    context.line(wrapped(note, context.width(), 0))
}
