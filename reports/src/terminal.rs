//! The live view: finished lines scroll up, and below them what is going on now, with a clock that runs.

use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::Sink;
use crate::event::{Event, What};
use crate::line::Lines;

/// A live terminal. Finished lines are the same as those of [`crate::Plain`].
pub struct Terminal {
    screen: MultiProgress,
    now: Option<ProgressBar>,
    detail: Option<ProgressBar>,
    lines: Lines,
}

impl Terminal {
    /// Draws on standard output. `folder` is where the last lines say that the reports lie.
    #[must_use]
    pub fn new(folder: impl Into<String>, colour: bool) -> Self {
        Self {
            screen: MultiProgress::with_draw_target(ProgressDrawTarget::stdout()),
            now: None,
            detail: None,
            lines: Lines::new(colour, folder.into()),
        }
    }

    fn show(&mut self, text: String) {
        self.clear();
        let bar = self.screen.add(ProgressBar::new_spinner());
        bar.set_style(style("  {spinner:.cyan} {msg} {elapsed:.dim}"));
        bar.set_message(text);
        bar.enable_steady_tick(Duration::from_millis(100));
        self.now = Some(bar);
    }

    fn say(&mut self, text: &str) {
        let screen = &self.screen;
        let detail = self.detail.get_or_insert_with(|| {
            let bar = screen.add(ProgressBar::new_spinner());
            bar.set_style(style("      {msg:.dim}"));
            bar
        });
        detail.set_message(text.to_owned());
        detail.tick();
    }

    fn clear(&mut self) {
        for bar in [self.detail.take(), self.now.take()].into_iter().flatten() {
            bar.finish_and_clear();
            self.screen.remove(&bar);
        }
    }
}

impl Sink for Terminal {
    fn on(&mut self, event: &Event) {
        let lines = self.lines.of(event);
        if !lines.is_empty() {
            self.clear();
            for line in lines {
                // Nobody is left to tell when the terminal is gone.
                let _ = self.screen.println(line);
            }
        }
        match &event.what {
            What::PhaseStarted { phase } => self.show(phase.clone()),
            What::PhaseProgress { detail, .. } => self.say(detail),
            What::StepStarted { scenario, step } => {
                self.show(self.lines.step_text(*scenario, *step))
            }
            What::StepWaiting { state, .. } => self.say(state),
            What::ScenarioStarted { .. } => self.show("getting ready".to_owned()),
            What::RunFinished { .. } => self.clear(),
            _ => {}
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    // The templates are the two literals above; a wrong one would only lose the ornament.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}
