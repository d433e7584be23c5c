//! A client of a lab's API.

use std::path::PathBuf;

use anyhow::{Context, anyhow};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use softib_host::run_dir::{self, LabEntry};
use tokio::net::UnixStream;

use crate::daemon::messages::{Problem, Status};
use crate::failure::Failure;
use crate::text::some_of;

/// Talks to one lab; each request has a connection of its own.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    socket: PathBuf,
}

impl Client {
    /// The client of a lab that was found.
    pub(crate) fn new(lab: &LabEntry) -> Self {
        Self {
            socket: lab.control_socket(),
        }
    }

    /// How far the lab is.
    pub(crate) async fn status(&self) -> Result<Status, Failure> {
        self.get("/status").await
    }

    /// What a resource says.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        let response = self.send(Method::GET, path, Bytes::new()).await?;
        read(response).await
    }

    /// Changes something.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        let body = serde_json::to_vec(body).context("the request can't be written")?;
        let response = self.send(Method::POST, path, body.into()).await?;
        read(response).await
    }

    /// Asks for something that answers nothing.
    pub(crate) async fn ask(&self, path: &str) -> Result<(), Failure> {
        self.send(Method::POST, path, Bytes::new()).await.map(drop)
    }

    /// A resource that goes on.
    pub(crate) async fn stream(&self, path: &str) -> Result<Incoming, Failure> {
        Ok(self
            .send(Method::GET, path, Bytes::new())
            .await?
            .into_body())
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Response<Incoming>, Failure> {
        let socket = self.socket.display();
        let stream = UnixStream::connect(&self.socket)
            .await
            .with_context(|| format!("the lab does not answer at {socket}"))?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .with_context(|| format!("the lab does not answer at {socket}"))?;
        tokio::spawn(connection);
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "softib")
            .header("content-type", "application/json")
            .body(Full::new(body))
            .context("the request can't be written")?;
        let response = sender
            .send_request(request)
            .await
            .context("the lab went down over the request")?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let problem: Problem = read(response).await.unwrap_or_else(|_| Problem {
            error: format!("the lab answers {status}"),
        });
        Err(
            if matches!(
                status,
                StatusCode::NOT_FOUND | StatusCode::UNPROCESSABLE_ENTITY
            ) {
                Failure::Usage(problem.error)
            } else {
                Failure::Failed(anyhow!(problem.error))
            },
        )
    }
}

async fn read<T: DeserializeOwned>(response: Response<Incoming>) -> Result<T, Failure> {
    let body = response
        .into_body()
        .collect()
        .await
        .context("the lab went down over the answer")?;
    serde_json::from_slice(&body.to_bytes())
        .context("the lab's answer is not understood; it was started by another version of softib")
        .map_err(Failure::Failed)
}

/// A name as the value of a query, whatever it is made of.
pub(crate) fn query_value(name: &str) -> String {
    let plain = |octet: u8| octet.is_ascii_alphanumeric() || b"-_.".contains(&octet);
    name.bytes()
        .map(|octet| {
            if plain(octet) {
                char::from(octet).to_string()
            } else {
                format!("%{octet:02X}")
            }
        })
        .collect()
}

/// The lab of this name; without a name the only one that runs.
pub(crate) fn find(name: Option<&str>) -> Result<LabEntry, Failure> {
    if let Some(name) = name {
        return Ok(run_dir::find(name)?);
    }
    let mut labs = running()?;
    match labs.len() {
        0 => Err(Failure::Failed(anyhow!(
            "no lab is up; `softib up LAB` brings one up, such as examples/two-hosts.toml"
        ))),
        1 => Ok(labs.remove(0)),
        _ => Err(Failure::Usage(format!(
            "several labs are up ({}); say which with --name",
            some_of(labs.iter().map(|lab| &lab.name))
        ))),
    }
}

/// All labs that run.
pub(crate) fn running() -> Result<Vec<LabEntry>, Failure> {
    Ok(run_dir::list()?
        .into_iter()
        .filter(|lab| lab.pid.is_some())
        .collect())
}

/// Runs a command that talks to a lab.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the event loop can't start")?
        .block_on(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_is_a_query_value() {
        assert_eq!(query_value("leaf1-2_a.b"), "leaf1-2_a.b");
        assert_eq!(query_value("MF0;sw 1&ü"), "MF0%3Bsw%201%26%C3%BC");
    }
}
