//! Calls of providers' functions, from wherever an expression is evaluated.
//!
//! Expressions are evaluated without waiting for anything, so a call holds up its thread until the provider has answered
//! (which has a time limit). The provider is a process of its own for this alone, not configured, as in Terraform. The
//! runtime must have more than one thread.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
};

use ashlar_addr::Provider;
use ashlar_diag::Diags;
use ashlar_funcs::{Fault, FuncError};
use ashlar_plan::{FunctionResults, lock};
use ashlar_port::{Provider as RunningProvider, Providers};
use ashlar_value::Value;
use tokio::runtime::Handle;

/// Those that functions were called of, and what they gave.
pub struct ProviderFunctions {
    providers: Arc<dyn Providers>,
    runtime: Handle,
    started: tokio::sync::Mutex<BTreeMap<Provider, Arc<dyn RunningProvider>>>,
    results: Mutex<FunctionResults>,
}

impl fmt::Debug for ProviderFunctions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProviderFunctions")
    }
}

impl ProviderFunctions {
    /// Functions of these providers, which must give again what they gave before. Called inside the runtime.
    pub(crate) fn new(providers: Arc<dyn Providers>, before: FunctionResults) -> Arc<Self> {
        Arc::new(Self {
            providers,
            runtime: Handle::current(),
            started: tokio::sync::Mutex::default(),
            results: Mutex::new(before),
        })
    }

    pub(crate) fn call(&self, provider: &Provider, name: &str, args: &[Value]) -> Result<Value, FuncError> {
        let failed = |message: String| FuncError {
            fault: Fault::Call,
            arg: None,
            message,
        };
        let answer = tokio::task::block_in_place(|| {
            self.runtime.block_on(async {
                let running = self.running(provider).await;
                let running =
                    running.map_err(|diags| failed(format!("the provider cannot be asked: {diags}")))?;
                let answer = running.call_function(name, args).await;
                answer.map_err(|fault| match fault.argument {
                    Some(at) => FuncError {
                        fault: Fault::Argument,
                        arg: Some(usize::try_from(at).unwrap_or(usize::MAX)),
                        message: fault.message,
                    },
                    None => failed(fault.message),
                })
            })
        })?;
        if lock(&self.results).agrees(provider, name, args, &answer) {
            Ok(answer)
        } else {
            Err(failed(format!(
                "{} gave another result for the same arguments before, which no function may. This is a bug of the provider",
                provider.for_display()
            )))
        }
    }

    async fn running(&self, provider: &Provider) -> Result<Arc<dyn RunningProvider>, Diags> {
        let mut started = self.started.lock().await;
        if let Some(running) = started.get(provider) {
            return Ok(running.clone());
        }
        let running = self.providers.plain(provider).await?;
        started.insert(provider.clone(), running.clone());
        Ok(running)
    }

    /// What was given so far.
    pub(crate) fn results(&self) -> FunctionResults {
        lock(&self.results).clone()
    }

    /// Ends the processes.
    pub(crate) async fn close(&self) {
        let started = std::mem::take(&mut *self.started.lock().await);
        futures::future::join_all(started.values().map(|provider| provider.close())).await;
    }
}
