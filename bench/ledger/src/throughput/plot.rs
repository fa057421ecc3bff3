//! A plot of payments a second by clients: ours and PostgreSQL's, a panel for each scenario.

use super::local_stack::Scenario;
use super::report::Run;
use plotters::coord::Shift;
use plotters::prelude::*;

const SIZE: (u32, u32) = (900, 460);
const OURS: RGBColor = RGBColor(0, 114, 178);
/// PostgreSQL's variants. Readers with any kind of colour vision can tell the colours apart.
const THEIRS: [(&str, RGBColor); 4] = [
    ("uniform", RGBColor(213, 94, 0)),
    ("hot", RGBColor(213, 94, 0)),
    ("sharded", RGBColor(230, 159, 0)),
    ("batched", RGBColor(0, 158, 115)),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type DrawError<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// The plot as SVG.
///
/// # Errors
/// A sentence that says what could not be drawn.
pub fn svg(runs: &[Run]) -> Result<String, String> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        draw(&area, runs).map_err(|error| format!("the plot cannot be drawn: {error}"))?;
    }
    Ok(text)
}

fn draw<'a>(area: &Area<'a>, runs: &[Run]) -> Result<(), DrawError<'a>> {
    area.fill(&WHITE)?;
    for (panel, scenario) in area.split_evenly((1, 2)).iter().zip(Scenario::ALL) {
        let title = match scenario {
            Scenario::Uniform => "Many merchants, at random",
            Scenario::Hot => "One merchant",
        };
        draw_panel(panel, title, scenario, runs)?;
    }
    area.present()
}

fn draw_panel<'a>(area: &Area<'a>, title: &str, scenario: Scenario, runs: &[Run]) -> Result<(), DrawError<'a>> {
    let clients_max = runs.iter().map(|run| run.clients).max().unwrap_or(1).max(2);
    let rate_max = runs.iter().map(Run::per_second).max().unwrap_or(1).max(10);
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d((1_u32..clients_max).log_scale(), 0_u64..rate_max + rate_max / 5)?;
    chart.configure_mesh().x_desc("clients").y_desc("payments a second").light_line_style(TRANSPARENT).draw()?;
    let theirs = THEIRS.into_iter().filter(|(variant, _)| scenario.variants().contains(variant));
    let lines =
        [(scenario.name(), OURS, true)].into_iter().chain(theirs.map(|(variant, colour)| (variant, colour, false)));
    for (variant, colour, ours) in lines {
        let points: Vec<(u32, u64)> = runs
            .iter()
            .filter(|run| (run.system != "postgresql") == ours && run.variant == variant)
            .map(|run| (run.clients, run.per_second()))
            .collect();
        if points.is_empty() {
            continue;
        }
        let label = if ours { "EcoPay Ledger, local stack".to_owned() } else { format!("PostgreSQL, {variant}") };
        chart
            .draw_series(LineSeries::new(points, colour.stroke_width(2)).point_size(3))?
            .label(label)
            .legend(move |(x, y)| PathElement::new([(x, y), (x.saturating_add(18), y)], colour.stroke_width(2)));
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
    use std::time::Duration;

    #[test]
    fn plot_names_both_systems() {
        let run = |system, variant: &str, clients| Run {
            system,
            variant: variant.to_owned(),
            clients,
            seconds: 1,
            payments: 100,
            p50: Duration::ZERO,
            p99: Duration::ZERO,
            p99_9: Duration::ZERO,
            inside: None,
        };
        let runs = [run("ecopay-ledger", "hot", 1), run("ecopay-ledger", "hot", 16), run("postgresql", "batched", 16)];
        let svg = svg(&runs).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("EcoPay Ledger, local stack") && svg.contains("PostgreSQL, batched"));
        assert!(!svg.contains("PostgreSQL, sharded"));
    }
}
