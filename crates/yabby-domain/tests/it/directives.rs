//! Whatever somebody types: directives, commands and model names are found or not, and nothing breaks.

use proptest::prelude::*;
use yabby_domain::command::{is_control_message, normalize_body, parse_activation};
use yabby_domain::config::Config;
use yabby_domain::directive::level::{ThinkLevel, take_leading_level, take_level};
use yabby_domain::directive::{Circumstances, Directives};
use yabby_domain::model::select::Choices;
use yabby_domain::model::{ModelAliases, ModelRef};
use yabby_domain::session::reset::ResetTriggers;
use yabby_domain::session::send_policy::parse_command;
use yabby_domain::skills::{SkillFile, SkillSource, Surroundings, snapshot};

use crate::texts::any_text;

proptest! {
    #[test]
    fn any_body_may_hold_directives(body in any_text(), alias in any_text()) {
        let aliases = [alias];
        let _ = take_leading_level(&body, true);
        let here = Circumstances { in_group: true, ..Circumstances::default() };
        let _ = Directives::take(&body, &aliases, true).in_effect(here, &aliases, str::to_owned);
    }

    /// Taking a directive out ends: every round leaves a shorter text.
    #[test]
    fn directives_run_out(body in any_text()) {
        let mut rest = body;
        while let Some(found) = take_level::<ThinkLevel>(&rest) {
            prop_assert!(found.rest.len() < rest.len());
            rest = found.rest;
        }
    }

    #[test]
    fn any_body_may_be_a_command(body in any_text(), bot in any_text()) {
        let canonical = normalize_body(&body, Some(&bot));
        let _ = (is_control_message(&canonical, &Config::default(), None), parse_command(&canonical), parse_activation(&body));
        let _ = ResetTriggers::default().find(&body, &canonical);
    }

    #[test]
    fn any_name_may_be_a_model(raw in any_text(), allowed in proptest::collection::vec(any_text(), 0..4)) {
        let default = ModelRef::new("anthropic", "claude-opus-4-5");
        let aliases = ModelAliases::default();
        let choices = Choices { default: &default, aliases: &aliases, allowed: &allowed };
        let _ = (choices.select(&raw), yabby_domain::model::reset_hint::reset_hint(&raw, &choices));
    }

    #[test]
    fn any_file_may_be_a_skill(text in any_text(), front in any_text()) {
        let files = [
            SkillFile { source: SkillSource::Workspace, path: "/w/a/SKILL.md".to_owned(), text: text.clone() },
            SkillFile { source: SkillSource::Managed, path: "/w/b/SKILL.md".to_owned(), text: format!("---\n{front}\n---\n{text}") },
        ];
        let config = Config::default();
        let here = Surroundings { config: &config, platform: "linux", has_program: &|_| true, has_variable: &|_| true };
        let _ = snapshot(&files, &here, None, Some(&text), None);
    }
}
