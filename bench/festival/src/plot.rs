//! A plot of the designs side by side: refusals, latency and uncredited payments by rate.

use crate::chance::MILLISECOND;
use crate::designs::Design;
use crate::scenarios::{MOST_SHARDS, PREPARED};
use crate::simulation::Outcome;
use crate::stats::per_mille;
use plotters::coord::Shift;
use plotters::prelude::*;

const SIZE: (u32, u32) = (900, 1_080);
/// The lines: scenario, design and colour. Readers with any kind of colour vision can tell the colours apart.
const LINES: [(&str, Design, RGBColor); 5] = [
    (PREPARED, Design::Credited, RGBColor(0, 114, 178)),
    (MOST_SHARDS, Design::Credited, RGBColor(86, 180, 233)),
    (PREPARED, Design::Synchronous, RGBColor(213, 94, 0)),
    (PREPARED, Design::Sharded(16), RGBColor(230, 159, 0)),
    (PREPARED, Design::Sharded(64), RGBColor(0, 158, 115)),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type DrawError<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;
/// A value of an outcome.
type Value = fn(&Outcome) -> u64;

/// The plot as SVG.
///
/// # Errors
/// A sentence that says what could not be drawn.
pub fn svg(outcomes: &[Outcome]) -> Result<String, String> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        draw(&area, outcomes).map_err(|error| format!("the plot cannot be drawn: {error}"))?;
    }
    Ok(text)
}

fn draw<'a>(area: &Area<'a>, outcomes: &[Outcome]) -> Result<(), DrawError<'a>> {
    area.fill(&WHITE)?;
    let panels: [(&str, &str, Value); 3] = [
        ("Refused payments", "of each thousand", |outcome| per_mille(outcome.refused(), outcome.offered)),
        ("Latency of applied payments, p99", "ms", |outcome| outcome.latency_p99 / MILLISECOND),
        ("Uncredited payments, the most at once", "payments", |outcome| outcome.uncredited_max),
    ];
    let areas = area.split_evenly((panels.len(), 1));
    for (number, (panel, what)) in areas.iter().zip(panels).enumerate() {
        // In the first panel alone, where no line passes below the legend.
        draw_panel(panel, what, number == 0, outcomes)?;
    }
    area.present()
}

fn draw_panel<'a>(
    area: &Area<'a>,
    (title, unit, value): (&str, &str, Value),
    has_legend: bool,
    outcomes: &[Outcome],
) -> Result<(), DrawError<'a>> {
    let shown = || outcomes.iter().filter(|outcome| [PREPARED, MOST_SHARDS].contains(&outcome.scenario.as_str()));
    let rate_max = shown().map(|outcome| outcome.rate).max().unwrap_or(1).max(2);
    let value_max = shown().map(value).max().unwrap_or(1).max(1);
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(76)
        .build_cartesian_2d((1_u64..rate_max).log_scale(), 0_u64..value_max.saturating_add(value_max / 10))?;
    chart.configure_mesh().x_desc("payments a second").y_desc(unit).light_line_style(TRANSPARENT).draw()?;
    for (scenario, design, colour) in LINES {
        let name = design.name();
        let points: Vec<(u64, u64)> = outcomes
            .iter()
            .filter(|outcome| outcome.design == name && outcome.scenario == scenario)
            .map(|outcome| (outcome.rate, value(outcome)))
            .collect();
        chart
            .draw_series(LineSeries::new(points, colour.stroke_width(2)).point_size(3))?
            .label(format!("{name}, {scenario}"))
            .legend(move |(x, y)| PathElement::new([(x, y), (x.saturating_add(18), y)], colour.stroke_width(2)));
    }
    if !has_legend {
        return Ok(());
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE)
        .border_style(BLACK)
        .draw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::{Preparation, Scenario, festival};

    #[test]
    fn plot_names_every_design() {
        let run = |rate| {
            let setup = festival(Design::Credited, rate, 1, Preparation::AsAdvised, 1);
            Scenario { name: PREPARED, setup }.run()
        };
        let svg = svg(&[run(1), run(20)]).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        for design in Design::ALL {
            assert!(svg.contains(&design.name()), "{}", design.name());
        }
    }
}
