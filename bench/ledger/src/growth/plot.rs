//! A plot of capacity units by the size of the books, a panel for each family.

use super::operations::shape;
use super::series::{Point, Series};
use plotters::coord::Shift;
use plotters::prelude::*;

const WIDTH: u32 = 900;
const PANEL_HEIGHT: u32 = 340;
/// The operations that are drawn: first of most families, then of a year's. Readers with any kind of colour vision can
/// tell the colours apart.
const LINES: [(&str, RGBColor); 13] = [
    ("customer's balances", RGBColor(86, 180, 233)),
    ("history, last page", RGBColor(0, 114, 178)),
    ("merchant's payments, last page", RGBColor(0, 158, 115)),
    ("payment", RGBColor(0, 0, 0)),
    ("sealing", RGBColor(213, 94, 0)),
    ("reconciliation", RGBColor(153, 153, 153)),
    ("own account, noon", RGBColor(213, 94, 0)),
    ("prepaid report", RGBColor(230, 159, 0)),
    ("merchant's month", RGBColor(0, 158, 115)),
    ("merchant's balance, end of a day", RGBColor(0, 114, 178)),
    ("totals of a day", RGBColor(0, 0, 0)),
    ("folding", RGBColor(153, 153, 153)),
    ("customer's balance, end of a day", RGBColor(86, 180, 233)),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type DrawError<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// The plot as SVG.
///
/// # Errors
/// A sentence that says what could not be drawn.
pub fn svg(all: &[Series]) -> Result<String, String> {
    let mut families: Vec<&str> = all.iter().map(|series| series.family.as_str()).collect();
    families.dedup();
    let height = PANEL_HEIGHT * u32::try_from(families.len()).unwrap_or(1).max(1);
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        draw(&area, &families, all).map_err(|error| format!("the plot cannot be drawn: {error}"))?;
    }
    Ok(text)
}

fn draw<'a>(area: &Area<'a>, families: &[&str], all: &[Series]) -> Result<(), DrawError<'a>> {
    area.fill(&WHITE)?;
    let areas = area.split_evenly((families.len().max(1), 1));
    for (panel, family) in areas.iter().zip(families) {
        let of_family: Vec<&Series> = all.iter().filter(|series| series.family == *family).collect();
        draw_panel(panel, family, &of_family)?;
    }
    area.present()
}

fn draw_panel<'a>(area: &Area<'a>, family: &str, series: &[&Series]) -> Result<(), DrawError<'a>> {
    let points = || series.iter().flat_map(|series| &series.points);
    let size_min = points().map(|point| point.size).min().unwrap_or(1).max(1);
    let size_max = points().map(|point| point.size).max().unwrap_or(10).max(size_min + 1);
    let drawn = |series: &&&Series| LINES.iter().any(|(operation, _)| *operation == series.operation);
    let units_max = series.iter().filter(drawn).flat_map(|of| of.points.iter().map(|point| hundredths(of, point)));
    let units_max = units_max.max().unwrap_or(1).max(10);
    // The legend is beside the lines, because each part of the panel has some.
    let mut chart = ChartBuilder::on(area)
        .caption(format!("As the books grow: {family}"), ("sans-serif", 20))
        .margin(12)
        .margin_right(250)
        .x_label_area_size(36)
        .y_label_area_size(76)
        .build_cartesian_2d((size_min..size_max).log_scale(), (10..units_max * 2).log_scale())?;
    let units = |hundredths: &u64| format!("{}.{}", hundredths / 100, hundredths % 100 / 10);
    chart
        .configure_mesh()
        .x_desc("size")
        .y_desc("capacity units, each")
        .y_label_formatter(&units)
        .light_line_style(TRANSPARENT)
        .draw()?;
    let mut below = 30;
    for (operation, colour) in LINES {
        let Some(of) = series.iter().find(|series| series.operation == operation) else { continue };
        let line: Vec<(u64, u64)> = of.points.iter().map(|point| (point.size, hundredths(of, point))).collect();
        chart.draw_series(LineSeries::new(line, colour.stroke_width(2)).point_size(3))?;
        let left = i32::try_from(WIDTH).unwrap_or(0) - 240;
        area.draw(&PathElement::new([(left, below), (left + 20, below)], colour.stroke_width(3)))?;
        area.draw(&Text::new(operation, (left + 28, below - 7), ("sans-serif", 14)))?;
        below += 22;
    }
    Ok(())
}

/// Read and write units of one request or record, in hundredths; at least a tenth, which a logarithm can show.
fn hundredths(series: &Series, point: &Point) -> u64 {
    let each = if shape(&series.family, &series.operation).is_per_record() { point.work.max(1) } else { 1 };
    let halves = point.counts.read_units.0 + point.counts.write_units.0;
    (halves * 50 / each).max(10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::growth::counts::{Counts, HalfUnits};

    #[test]
    fn plot_has_a_panel_for_each_family_and_a_legend() {
        let series = |family: &str, operation: &str| {
            let point = |size: u64| Point {
                size,
                work: size,
                counts: Counts { read_units: HalfUnits(size), ..Counts::default() },
                micros: 1,
                peak_bytes: None,
            };
            Series { family: family.into(), operation: operation.into(), points: vec![point(10), point(1_000)] }
        };
        let svg = svg(&[series("customers", "sealing"), series("merchants", "payment")]).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        for text in ["As the books grow: customers", "As the books grow: merchants", "sealing", "payment"] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn no_series_give_an_empty_plot() {
        assert!(svg(&[]).unwrap().starts_with("<svg"));
    }
}
