//! What happens to an object, and why.

/// What happens to one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Nothing.
    NoOp,
    /// Made anew.
    Create,
    /// A data source read during apply.
    Read,
    /// Changed in place.
    Update,
    /// Destroyed, then made anew.
    DeleteThenCreate,
    /// Made anew beside the old one, which is destroyed last.
    CreateThenDelete,
    /// Destroyed.
    Delete,
    /// Left as it is, and no longer managed.
    Forget,
    /// Made anew; the old one is left as it is, and no longer managed. (OpenTofu)
    ForgetThenCreate,
}

impl Action {
    /// Is one object replaced by another?
    pub fn is_replace(self) -> bool {
        matches!(
            self,
            Action::DeleteThenCreate | Action::CreateThenDelete | Action::ForgetThenCreate
        )
    }

    /// Is an object destroyed?
    pub fn destroys(self) -> bool {
        matches!(
            self,
            Action::Delete | Action::DeleteThenCreate | Action::CreateThenDelete
        )
    }

    /// As in Terraform's JSON plans.
    pub fn words(self) -> &'static [&'static str] {
        match self {
            Action::NoOp => &["no-op"],
            Action::Create => &["create"],
            Action::Read => &["read"],
            Action::Update => &["update"],
            Action::DeleteThenCreate => &["delete", "create"],
            Action::CreateThenDelete => &["create", "delete"],
            Action::Delete => &["delete"],
            Action::Forget => &["forget"],
            Action::ForgetThenCreate => &["forget", "create"],
        }
    }
}

/// Why an action was chosen, where the values alone do not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Its creation did not complete.
    ReplaceBecauseTainted,
    /// The provider cannot change these arguments in place.
    ReplaceBecauseCannotUpdate,
    /// A person asked for it.
    ReplaceByRequest,
    /// An object named in `replace_triggered_by` changes.
    ReplaceByTriggers,
    /// The resource block is gone.
    DeleteBecauseNoResourceConfig,
    /// The resource block is gone, also where it was said to have moved.
    DeleteBecauseNoMoveTarget,
    /// It is switched off. (OpenTofu)
    DeleteBecauseEnabledFalse,
    /// count or for_each was added or removed.
    DeleteBecauseWrongRepetition,
    /// The index is beyond the present count.
    DeleteBecauseCountIndex,
    /// The key is no longer in for_each.
    DeleteBecauseEachKey,
    /// Its module has no such instance any more.
    DeleteBecauseNoModule,
    /// The configuration is not known before apply.
    ReadBecauseConfigUnknown,
    /// Something it depends on changes.
    ReadBecauseDependencyPending,
    /// A check looks at it, after all else is done.
    ReadBecauseCheckNested,
    /// The configuration says that it is not destroyed. (OpenTofu)
    ForgotBecauseLifecycleDestroyInConfig,
    /// The configuration that it was made with said that it is not destroyed. (OpenTofu)
    ForgotBecauseLifecycleDestroyInState,
}

impl Reason {
    /// As in Terraform's JSON plans.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::ReplaceBecauseTainted => "replace_because_tainted",
            Reason::ReplaceBecauseCannotUpdate => "replace_because_cannot_update",
            Reason::ReplaceByRequest => "replace_by_request",
            Reason::ReplaceByTriggers => "replace_by_triggers",
            Reason::DeleteBecauseNoResourceConfig => "delete_because_no_resource_config",
            Reason::DeleteBecauseNoMoveTarget => "delete_because_no_move_target",
            Reason::DeleteBecauseEnabledFalse => "delete_because_enabled_false",
            Reason::DeleteBecauseWrongRepetition => "delete_because_wrong_repetition",
            Reason::DeleteBecauseCountIndex => "delete_because_count_index",
            Reason::DeleteBecauseEachKey => "delete_because_each_key",
            Reason::DeleteBecauseNoModule => "delete_because_no_module",
            Reason::ReadBecauseConfigUnknown => "read_because_config_unknown",
            Reason::ReadBecauseDependencyPending => "read_because_dependency_pending",
            Reason::ReadBecauseCheckNested => "read_because_check_nested",
            Reason::ForgotBecauseLifecycleDestroyInConfig => "forgot_because_lifecycle_destroy_in_config",
            Reason::ForgotBecauseLifecycleDestroyInState => "forgot_because_lifecycle_destroy_in_state",
        }
    }
}
