//! A plot of the functions side by side: bars from zero, each with its figure.

use super::operation::Operation;
use super::report::Figures;
use super::table::{mebibytes, microseconds};
use crate::stats::milliseconds;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::time::Duration;

const SIZE: (u32, u32) = (900, 540);
const PANELS: (usize, usize) = (3, 2);
/// The bars' colours: ours is the first. Readers with any kind of colour vision can tell the colours apart.
const COLOURS: [RGBColor; 4] =
    [RGBColor(0, 114, 178), RGBColor(213, 94, 0), RGBColor(230, 159, 0), RGBColor(0, 158, 115)];
/// Where the bars begin, and the length of the longest.
const BARS: (i32, i32) = (140, 200);
const TITLE_HEIGHT: i32 = 40;
const BAR_HEIGHT: i32 = 18;
const BAR_STEP: i32 = 30;
const MARGIN: i32 = 14;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type DrawError<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// A figure that is drawn: its title, its value, and how the value is written.
type Panel = (String, fn(&Figures) -> u64, fn(u64) -> String);

/// The plot as SVG. The first function is ours.
///
/// # Errors
/// A sentence that says what could not be drawn.
pub fn plot(all: &[Figures]) -> Result<String, String> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        draw(&area, all).map_err(|error| format!("the plot cannot be drawn: {error}"))?;
    }
    Ok(text)
}

fn draw<'a>(area: &Area<'a>, all: &[Figures]) -> Result<(), DrawError<'a>> {
    area.fill(&WHITE)?;
    let request = |operation: Operation| format!("Processor time of a warm {operation}, \u{b5}s");
    let panels: [Panel; 6] = [
        ("From the start until the first event, ms".to_owned(), |of| nanos(of.cold.init), millis),
        ("Peak memory, MiB".to_owned(), |of| of.peak, mebibytes),
        (request(Operation::Payment), |of| processor(of, Operation::Payment), micros),
        (request(Operation::Replay), |of| processor(of, Operation::Replay), micros),
        (request(Operation::Refusal), |of| processor(of, Operation::Refusal), micros),
        (request(Operation::Balance), |of| processor(of, Operation::Balance), micros),
    ];
    for (area, panel) in area.split_evenly(PANELS).iter().zip(&panels) {
        draw_panel(area, panel, all)?;
    }
    area.present()
}

fn draw_panel<'a>(area: &Area<'a>, (title, value, show): &Panel, all: &[Figures]) -> Result<(), DrawError<'a>> {
    area.draw(&Text::new(title.clone(), (MARGIN, MARGIN), ("sans-serif", 16)))?;
    let largest = all.iter().map(value).max().unwrap_or_default();
    let tops = (0..).map(|place| TITLE_HEIGHT + BAR_STEP * place);
    for ((of, top), colour) in all.iter().zip(tops).zip(COLOURS.iter().cycle()) {
        let (from, text_top) = (BARS.0, top + 3);
        let to = from + length(value(of), largest);
        area.draw(&Text::new(of.name, (MARGIN, text_top), ("sans-serif", 13)))?;
        area.draw(&Rectangle::new([(from, top), (to, top + BAR_HEIGHT)], colour.filled()))?;
        area.draw(&Text::new(show(value(of)), (to + 6, text_top), ("sans-serif", 13)))?;
    }
    Ok(())
}

/// The length of a bar in pixels: at least one.
fn length(value: u64, largest: u64) -> i32 {
    let pixels = u128::from(value) * u128::from(BARS.1.unsigned_abs()) / u128::from(largest.max(1));
    i32::try_from(pixels).unwrap_or(BARS.1).max(1)
}

fn processor(of: &Figures, operation: Operation) -> u64 {
    nanos(of.warm[operation.place()].processor)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn millis(nanos: u64) -> String {
    milliseconds(Duration::from_nanos(nanos))
}

fn micros(nanos: u64) -> String {
    microseconds(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::report::testing::figures;

    #[test]
    fn plot_has_a_bar_for_each_function_and_figure() {
        let all = [figures("customer", 1), figures("python-boto3", 3)];
        let svg = plot(&all).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert_eq!(svg.matches("python-boto3").count(), PANELS.0 * PANELS.1);
        assert!(svg.contains("30.00") && svg.contains("3,000"));
    }

    #[test]
    fn bar_has_its_share_of_the_longest() {
        assert_eq!([length(10, 10), length(5, 10), length(0, 10), length(0, 0)], [200, 100, 1, 1]);
    }
}
