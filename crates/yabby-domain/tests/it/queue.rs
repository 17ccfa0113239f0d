//! A queue comes to an end whatever is put into it.

use proptest::prelude::*;
use yabby_domain::inbound::ThreadId;
use yabby_domain::queue::directive::QueueDirective;
use yabby_domain::queue::followup::{Dedupe, Drain, FollowupQueue, FollowupRoute, Waiting};
use yabby_domain::queue::{DropPolicy, QueueMode, QueueSettings};

use crate::inbound::messy_text;

fn settings() -> impl Strategy<Value = QueueSettings> {
    use QueueMode::{Collect, Followup, Interrupt, Steer, SteerBacklog};
    let mode = prop::sample::select(vec![Collect, Followup, Interrupt, Steer, SteerBacklog]);
    let drop = prop::sample::select(vec![DropPolicy::Old, DropPolicy::New, DropPolicy::Summarize]);
    (mode, drop, 0usize..4).prop_map(|(mode, drop, cap)| QueueSettings { mode, debounce_ms: 10.0, cap, drop })
}

fn waiting() -> impl Strategy<Value = Waiting<u8>> {
    let channel = prop::option::of(prop::sample::select(vec!["telegram", "webchat", "x", ""]));
    let id = prop::option::of("[12 ]{0,2}");
    (messy_text(), id, channel, any::<u8>()).prop_map(|(prompt, message_id, channel, run)| Waiting {
        summary_line: message_id.clone(),
        route: FollowupRoute {
            channel: channel.map(str::to_owned),
            to: message_id.clone(),
            account: None,
            thread: Some(ThreadId::Number(f64::from(run))),
        },
        prompt,
        message_id,
        run,
    })
}

proptest! {
    #[test]
    fn every_message_is_run_or_given_up(steps in prop::collection::vec((settings(), waiting()), 1..12)) {
        let mut queue = FollowupQueue::new(steps[0].0);
        for (at, (settings, message)) in steps.iter().enumerate() {
            queue.set_settings(*settings);
            queue.enqueue(message.clone(), Dedupe::ByPrompt, f64::from(u8::try_from(at).unwrap()));
            prop_assert!(queue.waiting().count() <= steps.len());
        }
        let (mut now, mut turns) = (0.0, 0);
        loop {
            turns += 1;
            prop_assert!(turns <= steps.len() + 3, "it never ends");
            match queue.drain(now) {
                Drain::Done => break,
                Drain::Wait(until) => {
                    prop_assert!(until > now);
                    now = until;
                }
                Drain::Run(_) => {}
            }
        }
        prop_assert_eq!(queue.waiting().count(), 0);
    }

    #[test]
    fn no_text_breaks_the_directive(before in messy_text(), name in "/[qQ][uU]eue[ :]", after in messy_text()) {
        QueueDirective::extract(&before);
        QueueDirective::extract(&format!("{before} {name}{after}"));
    }
}
