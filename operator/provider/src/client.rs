//! Calls to a plugin of either generation, each of which ends: with an answer, with the process, or with its time.
//!
//! The two services differ in the names of calls only (and in schemas, see `schema`). Nothing here knows values.
//!
//! Calls of the protocol that nobody here makes: `GetMetadata` and `GetFunctions`, because the whole schema is asked once
//! for each binary and holds what they would tell; those of state stores, because states are kept by the operator alone
//! (`state_store` blocks are refused where they stand). Providers that offer these are used for all else.

mod list;

use std::{error::Error, future::Future, sync::Arc, time::Duration};

use ashlar_port::{CallFault, ProviderDiag, Told};
use prost::Message;
use tokio::task::AbortHandle;
use tonic::{Code, Response, Status, client::Grpc, codegen::http::uri::PathAndQuery, transport::Channel};

use crate::{
    codec::{Bounded, CROWDED, Parts, REMARKED, Shape},
    fault::{chain, of_call},
    handshake::Generation,
    log::PluginLog,
    process::{GivenUp, Process},
    proto::{
        goplugin::{Empty, grpc_controller_client::GrpcControllerClient, grpc_stdio_client::GrpcStdioClient},
        tfplugin::{self, Diagnostic, invoke_action::event::Type as ActionEvent},
        tfplugin5::provider_client::ProviderClient as Client5,
        tfplugin6::{SchemaResponse, provider_client::ProviderClient as Client6},
    },
};

/// How long calls may take. Every call has an end, far beyond what providers need (Terraform has none), so that one that hangs
/// does not hold its run, and the lock of its state, for ever. In a cluster `spec.timeout` ends the whole run besides.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// The schema.
    pub schema: Duration,
    /// Checks, upgrades, functions and stop: they reach nothing outside.
    pub check: Duration,
    /// Configure, which may log in somewhere.
    pub configure: Duration,
    /// Plans, those of actions too.
    pub plan: Duration,
    /// Reads, imports and ephemeral resources, which may wait for what is slow to appear.
    pub read: Duration,
    /// Changes and actions, which may make what takes hours.
    pub apply: Duration,
    /// Waiting for sidecars that another run has: it holds up others meanwhile.
    pub turn: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let minutes = |count: u64| Duration::from_secs(60 * count);
        Self {
            schema: minutes(5),
            check: minutes(5),
            configure: minutes(10),
            plan: minutes(60),
            read: minutes(2 * 60),
            apply: minutes(24 * 60),
            turn: minutes(2),
        }
    }
}

impl Timeouts {
    /// Each of them changed in the same way.
    pub fn scaled(self, scale: impl Fn(Duration) -> Duration) -> Self {
        Self {
            schema: scale(self.schema),
            check: scale(self.check),
            configure: scale(self.configure),
            plan: scale(self.plan),
            read: scale(self.read),
            apply: scale(self.apply),
            turn: scale(self.turn),
        }
    }
}

/// Largest message either way: what plugins built with terraform-plugin-go send and take.
const MESSAGE_LIMIT: usize = 256 << 20;
/// So many messages of an action at work are told, and so many remarks on its end are kept; of a sane one all are.
const ACTION_LIMIT: usize = 10_000;
/// What tonic says of a message over the limit.
const TOO_LARGE: &str = "Error, decoded message length too large";
/// How long an orderly end may take, as in go-plugin.
const GRACE: Duration = Duration::from_secs(2);

/// Why a call has no answer.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The process ended; how.
    Ended(Arc<str>),
    /// The process had ended before; how.
    Gone(Arc<str>),
    /// It took too long, and the process was killed.
    Slow(Duration),
    /// It took too long of a process that nobody here can end: nothing more is asked of it.
    Left(Duration),
    /// Not asked, as an earlier call took too long.
    GivenUp(Duration),
    /// What was to be sent, or what was sent, is larger than any message may be.
    Large(Way),
    /// gRPC says no.
    Refused(Status),
}

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// To the plugin.
    Asked,
    /// From the plugin.
    Answered,
    /// From the plugin, and small only while it is not read.
    Crowded,
}

impl CallError {
    /// Does the plugin lack this call?
    pub(crate) fn is_unimplemented(&self) -> bool {
        matches!(self, Self::Refused(status) if status.code() == Code::Unimplemented)
    }

    /// As Terraform sums it up, naming the provider. `last` is the call during which the process ended, where that is known.
    pub(crate) fn diag(&self, provider: &str, call: &str, last: Option<&str>) -> ProviderDiag {
        let (summary, detail) = match self {
            Self::Ended(how) => (
                "Plugin did not respond",
                format!("The plugin of {provider} ended while it was asked for {call}: {how}"),
            ),
            Self::Gone(how) => (
                "Plugin did not respond",
                match last {
                    Some(last) => format!(
                        "The plugin of {provider} could not be asked for {call}: it had ended while it was asked for {last}: {how}"
                    ),
                    None => format!(
                        "The plugin of {provider} could not be asked for {call}: it had ended before: {how}"
                    ),
                },
            ),
            Self::Slow(limit) => (
                "Plugin did not respond",
                format!("The plugin of {provider} did not answer {call} within {limit:?} and was ended."),
            ),
            Self::Left(limit) => (
                "Plugin did not respond",
                format!(
                    "The plugin of {provider} did not answer {call} within {limit:?}. It runs as a sidecar, which nobody here can end, so it may still be at it; this run asks nothing more of it. See to the sidecar, and restart it if it hangs."
                ),
            ),
            Self::GivenUp(limit) => (
                "Plugin did not respond",
                format!(
                    "The plugin of {provider} was not asked for {call}: it did not answer {} within {limit:?}, and runs as a sidecar, which nobody here can end.",
                    last.unwrap_or("an earlier call")
                ),
            ),
            Self::Large(way) => (
                "Plugin error",
                match way {
                    Way::Asked => format!(
                        "What {provider} is to be told with {call} has more than {} MiB, which is the most that plugins take. Split up the resource, or keep large content elsewhere.",
                        MESSAGE_LIMIT >> 20
                    ),
                    Way::Answered => format!(
                        "The plugin of {provider} answered {call} with more than {} MiB, which is the most that is taken. Split up the resource, or keep large content elsewhere.",
                        MESSAGE_LIMIT >> 20
                    ),
                    Way::Crowded => format!(
                        "The plugin of {provider} answered {call} with more parts (remarks, attributes, paths) than any sane answer has; it was not read. This is a bug of the provider."
                    ),
                },
            ),
            Self::Refused(status) => match status.code() {
                Code::Unavailable => (
                    "Plugin did not respond",
                    format!("The plugin of {provider} failed to answer {call}. Its log may tell more."),
                ),
                Code::Cancelled => (
                    "Request cancelled",
                    format!("{provider} cancelled the {call} request."),
                ),
                Code::Unimplemented => (
                    "Unsupported plugin method",
                    format!("The plugin of {provider} does not know the call {call}."),
                ),
                code => (
                    "Plugin error",
                    format!(
                        "The plugin of {provider} answered {call} with an unexpected error ({code:?}): {}",
                        match status.source() {
                            Some(cause) => format!("{}: {}", status.message(), chain(cause)),
                            None => status.message().to_owned(),
                        }
                    ),
                ),
            },
        };
        let fault = if self.is_unasked() {
            CallFault::NotAsked
        } else {
            CallFault::NotHeard
        };
        of_call(fault, summary, detail)
    }

    /// Is it certain that nothing was sent? What the other side says of itself (that it lacks the call, say) is not.
    fn is_unasked(&self) -> bool {
        match self {
            Self::Gone(_) | Self::GivenUp(_) | Self::Large(Way::Asked) => true,
            Self::Ended(_) | Self::Slow(_) | Self::Left(_) | Self::Large(_) | Self::Refused(_) => false,
        }
    }
}

/// Of a schema only what is remarked: all else is passed over as it is read.
#[derive(Clone, PartialEq, prost::Message)]
struct Remarks {
    #[prost(message, repeated, tag = "4")]
    diagnostics: Vec<Diagnostic>,
}

impl Parts for Remarks {
    const SHAPE: &'static Shape = &REMARKED;
}

enum Service {
    Five(Client5<Channel>),
    Six(Client6<Channel>),
}

/// A connected plugin.
pub(crate) struct Client {
    service: Service,
    channel: Channel,
    controller: GrpcControllerClient<Channel>,
    process: Arc<Process>,
    timeouts: Timeouts,
    /// Reads what it prints.
    follower: AbortHandle,
}

/// What runs elsewhere goes on printing, for whoever is connected then.
impl Drop for Client {
    fn drop(&mut self) {
        self.follower.abort();
    }
}

/// One method per call: its messages, its name in generation 5 and in generation 6, its time.
macro_rules! calls {
    ($($name:ident: $message:ident = $five:ident | $six:ident, $time:ident;)*) => {$(
        pub(crate) async fn $name(
            &self,
            request: tfplugin::$message::Request,
        ) -> Result<tfplugin::$message::Response, CallError> {
            if request.encoded_len() > MESSAGE_LIMIT {
                return Err(CallError::Large(Way::Asked));
            }
            let call = async {
                match &self.service {
                    Service::Five(client) => client.clone().$five(request).await,
                    Service::Six(client) => client.clone().$six(request).await,
                }
            };
            self.guarded(self.timeouts.$time, call).await
        }
    )*};
}

impl Client {
    calls! {
        identity_schemas: get_resource_identity_schemas = get_resource_identity_schemas | get_resource_identity_schemas, schema;
        validate_provider: validate_provider_config = prepare_provider_config | validate_provider_config, check;
        configure: configure_provider = configure | configure_provider, configure;
        validate_resource: validate_resource_config = validate_resource_type_config | validate_resource_config, check;
        validate_data: validate_data_resource_config = validate_data_source_config | validate_data_resource_config, check;
        validate_ephemeral: validate_ephemeral_resource_config = validate_ephemeral_resource_config | validate_ephemeral_resource_config, check;
        open_ephemeral: open_ephemeral_resource = open_ephemeral_resource | open_ephemeral_resource, read;
        renew_ephemeral: renew_ephemeral_resource = renew_ephemeral_resource | renew_ephemeral_resource, read;
        close_ephemeral: close_ephemeral_resource = close_ephemeral_resource | close_ephemeral_resource, read;
        validate_action: validate_action_config = validate_action_config | validate_action_config, check;
        plan_action: plan_action = plan_action | plan_action, plan;
        validate_list: validate_list_resource_config = validate_list_resource_config | validate_list_resource_config, check;
        upgrade_state: upgrade_resource_state = upgrade_resource_state | upgrade_resource_state, check;
        upgrade_identity: upgrade_resource_identity = upgrade_resource_identity | upgrade_resource_identity, check;
        move_state: move_resource_state = move_resource_state | move_resource_state, check;
        import: import_resource_state = import_resource_state | import_resource_state, read;
        generate_config: generate_resource_config = generate_resource_config | generate_resource_config, check;
        read: read_resource = read_resource | read_resource, read;
        plan: plan_resource_change = plan_resource_change | plan_resource_change, plan;
        apply: apply_resource_change = apply_resource_change | apply_resource_change, apply;
        read_data: read_data_source = read_data_source | read_data_source, read;
        call_function: call_function = call_function | call_function, check;
        stop: stop_provider = stop | stop_provider, check;
    }

    /// Speaks over `channel`, and begins to read what the plugin prints.
    pub(crate) fn new(
        generation: Generation,
        channel: Channel,
        process: Arc<Process>,
        log: PluginLog,
        timeouts: Timeouts,
    ) -> Self {
        let service = match generation {
            Generation::Five => Service::Five(
                Client5::new(channel.clone())
                    .max_decoding_message_size(MESSAGE_LIMIT)
                    .max_encoding_message_size(MESSAGE_LIMIT),
            ),
            Generation::Six => Service::Six(
                Client6::new(channel.clone())
                    .max_decoding_message_size(MESSAGE_LIMIT)
                    .max_encoding_message_size(MESSAGE_LIMIT),
            ),
        };
        let follower = tokio::spawn(follow_output(GrpcStdioClient::new(channel.clone()), log));
        Self {
            follower: follower.abort_handle(),
            service,
            controller: GrpcControllerClient::new(channel.clone()),
            channel,
            process,
            timeouts,
        }
    }

    /// The schema, in the form of generation 6.
    pub(crate) async fn schema(&self) -> Result<SchemaResponse, CallError> {
        let request = tfplugin::get_provider_schema::Request {};
        let call = async {
            match &self.service {
                Service::Five(client) => client
                    .clone()
                    .get_schema(request)
                    .await
                    .map(|response| response.map(SchemaResponse::from)),
                Service::Six(client) => client.clone().get_provider_schema(request).await,
            }
        };
        self.guarded(self.timeouts.schema, call).await
    }

    /// Has the plugin tell its schema once more, of which only remarks are read.
    pub(crate) async fn schema_again(&self) -> Result<Vec<Diagnostic>, CallError> {
        let path = match &self.service {
            Service::Five(_) => "/tfplugin5.Provider/GetSchema",
            Service::Six(_) => "/tfplugin6.Provider/GetProviderSchema",
        };
        let mut service = Grpc::new(self.channel.clone()).max_decoding_message_size(MESSAGE_LIMIT);
        let call = async move {
            let not_ready = |error| Status::unavailable(format!("{error}"));
            service.ready().await.map_err(not_ready)?;
            let request = tonic::Request::new(tfplugin::get_provider_schema::Request {});
            let codec = Bounded::<_, Remarks>::default();
            service
                .unary(request, PathAndQuery::from_static(path), codec)
                .await
        };
        let remarks = self.guarded(self.timeouts.schema, call).await?;
        Ok(remarks.diagnostics)
    }

    /// Invokes an action. Gives what is remarked at its end, or nothing where the plugin told of no end.
    pub(crate) async fn invoke_action(
        &self,
        request: tfplugin::invoke_action::Request,
        told: Told<'_>,
    ) -> Result<Option<Vec<Diagnostic>>, CallError> {
        if request.encoded_len() > MESSAGE_LIMIT {
            return Err(CallError::Large(Way::Asked));
        }
        let call = async {
            let stream = match &self.service {
                Service::Five(client) => client.clone().invoke_action(request).await?,
                Service::Six(client) => client.clone().invoke_action(request).await?,
            };
            let mut stream = stream.into_inner();
            let mut end: Option<Vec<Diagnostic>> = None;
            let mut count = 0;
            while let Some(event) = stream.message().await? {
                match event.r#type {
                    Some(ActionEvent::Progress(progress)) => {
                        count += 1;
                        if count <= ACTION_LIMIT {
                            told(&progress.message);
                        }
                    }
                    Some(ActionEvent::Completed(completed)) => {
                        let end = end.get_or_insert_default();
                        let room = ACTION_LIMIT.saturating_sub(end.len());
                        end.extend(completed.diagnostics.into_iter().take(room));
                    }
                    // Of a newer protocol.
                    None => {}
                }
            }
            Ok(Response::new(end))
        };
        self.guarded(self.timeouts.apply, call).await
    }

    /// The process that answers.
    pub(crate) fn process(&self) -> &Process {
        &self.process
    }

    /// Asks the plugin to end, and ends it. Returns when it is gone.
    pub(crate) async fn close(&self) {
        let mut controller = self.controller.clone();
        let orderly = async {
            // The answer does not matter: it may end before it has sent one.
            let _ = controller.shutdown(Empty {}).await;
            self.process.ended().await;
        };
        if tokio::time::timeout(GRACE, orderly).await.is_err() {
            self.process.kill();
            self.process.ended().await;
        }
    }

    async fn guarded<T>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, CallError> {
        if let Some(limit) = self.process.given_up() {
            return Err(CallError::GivenUp(limit));
        }
        if let Some(how) = self.process.has_ended() {
            return Err(CallError::Gone(how));
        }
        let status = tokio::select! {
            biased;
            answer = call => match answer {
                Ok(answer) => return Ok(answer.into_inner()),
                Err(status) => status,
            },
            how = self.process.ended() => return Err(CallError::Ended(how)),
            () = tokio::time::sleep(limit) => {
                return Err(match self.process.give_up(limit) {
                    GivenUp::Killed => CallError::Slow(limit),
                    GivenUp::Left => CallError::Left(limit),
                });
            }
        };
        // What the plugin itself says has no cause in our transport.
        let broken = status.source().is_some() || status.code() == Code::Unavailable;
        if status.code() == Code::OutOfRange && status.message().starts_with(TOO_LARGE) {
            return Err(CallError::Large(Way::Answered));
        }
        if status.code() == Code::ResourceExhausted && status.message() == CROWDED {
            return Err(CallError::Large(Way::Crowded));
        }
        // The connection of a dying process often breaks before its end is seen.
        if broken && let Ok(how) = tokio::time::timeout(GRACE, self.process.ended()).await {
            return Err(CallError::Ended(how));
        }
        Err(CallError::Refused(status))
    }
}

/// Logs what the plugin prints through its frame, until the connection ends.
async fn follow_output(mut stdio: GrpcStdioClient<Channel>, log: PluginLog) {
    // Older plugins do not have this service.
    let Ok(stream) = stdio.stream_stdio(Empty {}).await else {
        return;
    };
    let mut stream = stream.into_inner();
    while let Ok(Some(part)) = stream.message().await {
        String::from_utf8_lossy(&part.data)
            .lines()
            .for_each(|line| log.line(line));
    }
}
