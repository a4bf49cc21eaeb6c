//! Tests that every store of durable jobs has to pass.
//!
//! [`store_conformance!`] makes a test of each behaviour in the contract, for a store that a [`TestStore`] makes. A test about
//! one of the rules R1 to R24 has its number in the name. [`Differential`] sends random requests to a store and to the
//! [`Model`](scheduler_store::Model), and compares all answers and rows.
#![allow(clippy::missing_panics_doc, reason = "a test panics when it fails")]
#![allow(clippy::disallowed_methods, reason = "one test races threads of its own")]

mod actions;
mod attempts;
mod claims;
mod commands;
mod differential;
mod ends;
mod enqueues;
mod generate;
mod given;
mod limits;
mod nodes;
mod operation;
mod order;
mod pauses;
mod progress;
mod random;
mod schedules;
mod sessions;
mod test_store;

pub use actions::*;
pub use attempts::*;
pub use claims::*;
pub use commands::*;
pub use differential::{Differential, a_few_thousand_random_requests_are_answered_as_by_the_model};
pub use ends::*;
pub use enqueues::*;
pub use given::{definition, open};
pub use limits::*;
pub use nodes::*;
pub use order::*;
pub use pauses::*;
pub use progress::*;
pub use schedules::*;
pub use sessions::*;
pub use test_store::{TestModel, TestStore};

/// Makes a test of each behaviour that a store must have, for a [`TestStore`].
#[macro_export]
macro_rules! store_conformance {
    ($store:ty) => {
        $crate::store_conformance! { @tests $store:
            a_session_lives_as_long_as_it_is_renewed
            r2_a_session_that_has_lapsed_is_dead_for_ever
            r2_a_request_that_comes_too_late_changes_nothing
            r5_a_session_ends_when_it_is_replaced
            r7_a_close_gives_back_what_never_began
            r7_a_close_of_a_session_that_has_ended_does_nothing
            r8_r9_a_reap_ends_only_what_it_saw
            r10_a_reap_finds_jobs_whose_session_is_gone
            a_reap_returns_no_more_payload_than_an_answer_may_carry
            a_lost_job_runs_again_until_it_has_been_lost_too_often
            an_abandoned_job_does_not_run_again
            r4_the_run_of_an_abandoned_job_ends_it_after_its_session
            r4_the_run_of_an_abandoned_job_ends_it_before_a_reap
            a_poll_shows_the_leases_of_the_others
            a_process_of_another_application_is_a_stranger_unless_a_task_is_shared
            a_session_says_its_application_and_its_tasks
            the_label_of_a_session_is_kept_without_nul
            a_change_by_one_process_is_seen_by_another
            r3_the_same_job_sent_twice_is_accepted_once
            a_request_is_accepted_as_a_whole
            a_job_keeps_its_trace_context
            a_job_keeps_its_partition
            fl_no_more_jobs_run_than_the_limit_of_a_partition
            fl_no_more_jobs_run_than_the_limit_of_a_task
            fl_a_lost_job_keeps_its_place_until_it_is_reaped
            fl_partitions_take_turns
            fl_a_partition_has_the_order_of_other_jobs
            fl_a_job_of_later_is_not_in_its_partition_yet
            fl_starts_of_a_partition_keep_its_rate
            fl_starts_of_a_task_keep_its_rate
            fl_a_tick_is_claimed_from_its_partition
            fl_a_limit_by_hand_counts_at_once_and_survives_a_deploy
            fl_what_holds_for_a_poll_holds_for_its_partitions
            fl_a_poll_without_room_for_lost_jobs_is_complete
            fl_jobs_that_do_not_run_take_no_place
            fl_a_job_of_what_is_full_is_refused
            fx_a_job_that_has_not_begun_by_its_time_is_cancelled
            fx_a_job_that_is_asked_for_again_and_again_waits_for_the_last_but_not_for_ever
            fl_jobs_of_a_partition_start_in_order_whatever_their_attempts_come_to
            fl_a_parked_job_holds_those_behind_it_where_the_limit_says_so
            fl_order_counts_over_queues_versions_and_former_names
            fl_a_job_that_was_in_order_keeps_its_wait_without_the_order
            fl_a_paused_partition_waits_and_says_so
            fl_due_jobs_are_counted_by_whether_a_limit_holds_them_back
            fl_jobs_of_a_partition_are_listed_and_changed
            fl_the_reason_why_a_job_does_not_run_is_the_one_by_which_it_is_not_claimed
            a_key_is_had_by_one_unfinished_job_of_a_task
            r3_r4_of_a_job_that_is_gone_its_identity_is_left
            r4_a_late_end_may_let_a_job_go
            a_job_that_waits_is_replaced_and_a_running_one_is_not
            a_job_that_replaces_another_begins_with_its_first_attempt
            a_key_until_the_start_is_free_once_the_job_runs
            a_key_for_a_time_outlives_its_job
            a_key_for_a_time_is_kept_while_its_job_is_unfinished
            r13_a_retry_takes_its_own_key_and_a_deletion_frees_it
            names_that_look_alike_are_different
            texts_that_look_like_sql_come_back_as_they_were
            a_due_time_is_kept_to_the_microsecond
            jobs_are_listed_by_filter_and_by_page
            jobs_that_ended_are_listed_among_the_others
            jobs_with_an_error_are_listed_and_changed_apart
            jobs_are_claimed_by_priority_and_due_time_and_identity
            an_unknown_task_is_never_claimed
            r24_a_payload_of_an_unknown_version_is_never_claimed
            r24_the_known_versions_are_those_of_each_task
            r24_versions_do_not_change_the_order_of_claims
            an_edited_payload_has_the_version_of_the_edit
            only_the_queues_of_the_process_are_served
            no_more_of_a_task_is_claimed_than_it_has_room
            a_job_is_not_claimed_before_it_is_due
            r14_jobs_that_were_lost_twice_in_a_row_are_claimed_within_their_limit
            r14_jobs_that_run_once_at_most_are_claimed_within_their_limit
            fences_grow_over_all_jobs
            no_job_is_claimed_twice_by_processes_that_race
            r4_an_end_that_comes_twice_is_stored_once
            an_end_by_one_who_is_not_the_holder_changes_nothing
            ends_that_come_together_are_each_by_itself
            a_failed_job_is_parked_after_its_last_attempt
            snoozed_and_given_back_and_undecodable_jobs_use_no_attempt
            a_run_that_its_own_process_lost_counts_as_a_loss
            each_attempt_that_ends_otherwise_forgets_the_losses_before_it
            losses_use_up_no_failure_of_a_job
            losses_between_failures_end_with_the_failures
            a_late_end_takes_the_loss_back
            a_job_keeps_its_attempts_that_did_not_succeed
            the_attempts_of_a_job_are_bounded
            a_lost_attempt_names_its_process
            r4_a_late_failure_is_an_attempt
            a_job_that_replaces_another_has_no_attempts
            fp_progress_is_written_by_the_owner_alone
            fp_the_last_progress_of_a_run_is_kept_at_its_end
            fp_progress_outlives_the_session_of_its_run
            fp_a_job_that_replaces_another_has_no_progress
            a_poll_claims_no_more_payload_than_an_answer_may_carry
            a_poll_claims_one_long_job
            jobs_that_ended_long_ago_are_deleted
            dynamic_schedules_that_are_over_are_deleted
            depths_count_what_is_unfinished_or_parked
            a_task_keeps_its_failures_in_a_row
            r6_a_tick_fires_once_and_only_from_the_cursor_that_was_seen
            a_tick_does_not_fire_before_its_time
            a_tick_is_claimed_as_it_fires
            r24_a_tick_of_an_unknown_version_is_not_claimed_as_it_fires
            r3_a_tick_never_takes_the_place_of_another_job
            r11_jobs_of_a_schedule_do_not_overlap
            r12_a_tick_that_waits_becomes_a_job_when_the_other_ends
            fl_a_tick_that_is_skipped_because_of_a_limit_is_counted_apart
            a_schedule_keeps_the_last_end_of_its_jobs
            r19_a_delay_counts_from_the_end_of_the_job
            r19_a_delay_counts_from_the_end_of_the_tick_that_waits
            r19_a_poll_repairs_a_delay_whose_job_is_gone
            r15_a_process_that_started_earlier_does_not_register
            r15_a_clock_that_was_set_back_keeps_no_process_from_registering
            a_single_tick_that_has_fired_does_not_fire_again
            r16_another_calculator_computes_again_from_the_cursor
            r17_what_was_set_by_hand_outlives_a_registration
            r18_ticks_fire_by_the_pause_that_was_seen
            a_poll_tells_what_is_due
            a_definition_comes_back_as_it_was_or_is_refused
            r13_a_retry_that_would_collide_changes_nothing
            r13_a_retry_beside_another_job_of_the_schedule_changes_nothing
            a_job_is_cancelled_at_once_or_asked_to_stop
            a_running_job_is_not_deleted
            a_job_that_waits_or_is_parked_is_edited
            r4_a_job_that_was_claimed_since_it_was_read_is_not_edited
            all_selected_jobs_are_cancelled_retried_and_deleted
            all_selected_jobs_come_in_batches
            r13_of_all_jobs_of_a_key_one_is_retried
            r2_all_selected_jobs_are_left_alone_when_it_is_too_late
            a_dynamic_schedule_is_made_changed_and_removed
            a_single_tick_of_long_ago_does_not_fire_when_it_is_put_again
            r2_a_command_that_comes_too_late_changes_nothing
            r21_a_paused_kind_of_job_waits
            r21_a_paused_queue_waits
            a_pause_of_jobs_ends_by_itself
            a_pause_of_jobs_comes_back_as_it_was
            what_runs_when_its_kind_is_paused_goes_on
            r21_a_tick_of_a_paused_kind_is_not_claimed_as_it_fires
            a_signed_command_leaves_an_action
            a_command_without_a_signature_leaves_no_action
            a_command_that_is_refused_leaves_no_action
            commands_that_are_one_action_are_one_entry
            a_change_that_no_command_makes_is_noted
            actions_are_listed_by_filter_and_by_page
            actions_of_long_ago_are_deleted_in_slices
            a_rule_set_by_hand_has_its_author
            a_session_has_the_facts_of_its_process
            a_session_that_has_ended_is_kept_for_an_hour_with_its_cause
            sessions_that_ended_long_ago_are_deleted_in_slices
            a_paused_process_claims_nothing
            a_pause_of_a_process_outlives_its_session
            a_few_thousand_random_requests_are_answered_as_by_the_model
        }
    };
    (@tests $store:ty: $($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                $crate::$name::<$store>();
            }
        )*
    };
}
