//! The call that answers with a stream of objects. Never keeps one: whoever asks takes each, and says when it is enough.

use std::ops::ControlFlow;

use prost::Message;
use tonic::Response;

use super::{CallError, Client, MESSAGE_LIMIT, Service, Way};
use crate::proto::tfplugin::list_resource::{Event, Request};

impl Client {
    /// Hands on each event as it comes, until there are no more or `take` has enough. What comes after that is not waited
    /// for: the plugin is told that nobody listens.
    pub(crate) async fn list(
        &self,
        request: Request,
        mut take: impl FnMut(Event) -> ControlFlow<()> + Send,
    ) -> Result<(), CallError> {
        if request.encoded_len() > MESSAGE_LIMIT {
            return Err(CallError::Large(Way::Asked));
        }
        let call = async {
            let stream = match &self.service {
                Service::Five(client) => client.clone().list_resource(request).await?,
                Service::Six(client) => client.clone().list_resource(request).await?,
            };
            let mut stream = stream.into_inner();
            while let Some(event) = stream.message().await? {
                if take(event).is_break() {
                    break;
                }
            }
            Ok(Response::new(()))
        };
        self.guarded(self.timeouts.read, call).await
    }
}
