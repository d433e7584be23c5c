//! The API: HTTP with JSON on a Unix socket that only the lab's owner can reach. Described for other clients in
//! `docs/api.md`.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State as Shared};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use hyper::body::Frame;
use softib_host::HostError;
use softib_host::capture::{Capture, write};
use softib_subnet::spec::NodeKind;
use softib_subnet::view::{RoutesView, SubnetView};

use super::messages::{
    InterfaceStatus, LinkRequest, LinkState, MtuRequest, MtuState, Problem, Status,
};
use super::places;
use super::state::State;
use crate::lab::place::PortPlace;

pub(super) fn router(state: Arc<State>) -> Router {
    Router::new()
        .route("/status", get(status))
        .route("/view", get(view))
        .route("/routes", get(routes))
        .route("/link", post(link))
        .route("/mtu", post(mtu))
        .route("/capture", get(capture))
        .route("/down", post(down))
        .fallback(async || ApiError::not_found("there is no such resource; see docs/api.md"))
        .with_state(state)
}

type Lab = Shared<Arc<State>>;
type Answer<T> = Result<Json<T>, ApiError>;

async fn status(Shared(state): Lab) -> Answer<Status> {
    let view = state.with(|lab| lab.view())?;
    let spec = state.subnet();
    let mut interfaces = Vec::new();
    for (node, expected) in spec.nodes.iter().zip(&state.expected) {
        let NodeKind::Host {
            interfaces: listed, ..
        } = &node.kind
        else {
            continue;
        };
        for (interface, &expected) in listed.iter().zip(expected) {
            let row = view
                .interfaces
                .iter()
                .find(|row| row.host == node.name && row.interface == interface.name);
            interfaces.push(InterfaceStatus {
                host: node.name.clone(),
                interface: interface.name.clone(),
                carrier: row.is_some_and(|row| row.carrier),
                ready: row.is_some_and(|row| row.ready),
                reason: row.and_then(|row| row.reason.clone()),
                expected,
            });
        }
    }
    let hosts = state.spec.hosts.len();
    Ok(Json(Status {
        lab: state.spec.name.clone(),
        source: state.source.clone(),
        pid: std::process::id(),
        uptime_ms: u64::try_from(state.since.elapsed().as_millis()).unwrap_or(u64::MAX),
        hosts,
        switches: spec.nodes.len() - hosts,
        ready: interfaces
            .iter()
            .all(|interface| interface.ready || !interface.expected),
        interfaces,
    }))
}

async fn view(Shared(state): Lab) -> Answer<SubnetView> {
    Ok(Json(state.with(|lab| lab.view())?))
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RoutesQuery {
    node: String,
}

async fn routes(
    Shared(state): Lab,
    query: Result<Query<RoutesQuery>, QueryRejection>,
) -> Answer<RoutesView> {
    let Query(RoutesQuery { node }) = query.map_err(ApiError::bad_request)?;
    let (id, _) = places::node(state.subnet(), &node).map_err(ApiError::not_found)?;
    let routes = state.with(|lab| lab.call(move |subnet, _| subnet.routes(id)))?;
    routes.map(Json).ok_or_else(|| {
        ApiError::not_found(format!(
            "{node} is a host; only switches have forwarding tables"
        ))
    })
}

async fn link(
    Shared(state): Lab,
    request: Result<Json<LinkRequest>, JsonRejection>,
) -> Answer<LinkState> {
    let Json(request) = request.map_err(ApiError::bad_request)?;
    let spec = state.subnet();
    let mut links = state.links();
    let index = places::cable(spec, &links, &request.end, request.other.as_ref())
        .map_err(ApiError::not_found)?;
    let Some(link) = links.get_mut(index) else {
        return Err(ApiError::not_found("the cable is gone"));
    };
    let impairment = request
        .change
        .apply(link.impairment)
        .map_err(ApiError::unprocessable)?;
    if impairment != link.impairment {
        state.with(|lab| lab.set_impairment(link.a, impairment))?;
        link.impairment = impairment;
    }
    if let Some(up) = request.up {
        state.with(|lab| lab.set_link_up(link.a, up))?;
        link.up = up;
    }
    Ok(Json(LinkState {
        a: places::show(spec, link.a),
        b: places::show(spec, link.b),
        up: link.up,
        impairment: link.impairment.to_string(),
    }))
}

async fn mtu(
    Shared(state): Lab,
    request: Result<Json<MtuRequest>, JsonRejection>,
) -> Answer<MtuState> {
    let Json(request) = request.map_err(ApiError::bad_request)?;
    let spec = state.subnet();
    let (interface, name) = places::interface(spec, &request.host, request.interface.as_deref())
        .map_err(ApiError::not_found)?;
    // RFC 4391 §4: the 4-octet IPoIB header counts towards the link's MTU.
    let most = u32::try_from(spec.mtu.octets()).unwrap_or(u32::MAX) - 4;
    if let Some(mtu) = request.mtu.filter(|mtu| !(68..=most).contains(mtu)) {
        return Err(ApiError::unprocessable(format!(
            "an MTU of {mtu} is out of range for {name}; this subnet allows 68 to {most} octets"
        )));
    }
    state.with(|lab| lab.set_mtu(interface, request.mtu))?;
    Ok(Json(MtuState { interface: name }))
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct CaptureQuery {
    node: String,
    port: Option<u8>,
}

/// A pcap file that goes on until the client has enough.
async fn capture(
    Shared(state): Lab,
    query: Result<Query<CaptureQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(CaptureQuery { node, port }) = query.map_err(ApiError::bad_request)?;
    let place = PortPlace { node, port };
    let port = places::port(state.subnet(), &place).map_err(ApiError::not_found)?;
    let capture = state.with(|lab| lab.capture(port))?;
    let header = Bytes::copy_from_slice(&write::file_header(write::DEFAULT_SNAPLEN));
    let body = Body::new(CaptureBody {
        header: Some(header),
        capture,
    });
    Ok(([(CONTENT_TYPE, "application/vnd.tcpdump.pcap")], body).into_response())
}

async fn down(Shared(state): Lab) -> StatusCode {
    state.take_down();
    StatusCode::ACCEPTED
}

/// Ends the capture when it is dropped, which is when the connection ends.
struct CaptureBody {
    header: Option<Bytes>,
    capture: Capture,
}

impl HttpBody for CaptureBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        /// Octets that are worth a write of their own.
        const ENOUGH: usize = 256 * 1024;

        if let Some(header) = self.header.take() {
            return Poll::Ready(Some(Ok(Frame::data(header))));
        }
        let Some(first) = ready!(pin!(self.capture.next()).poll(context)) else {
            return Poll::Ready(None);
        };
        let mut octets = Vec::new();
        write::push_record(&mut octets, &first, write::DEFAULT_SNAPLEN);
        while octets.len() < ENOUGH
            && let Some(packet) = self.capture.try_next()
        {
            write::push_record(&mut octets, &packet, write::DEFAULT_SNAPLEN);
        }
        Poll::Ready(Some(Ok(Frame::data(octets.into()))))
    }
}

/// A status code with a sentence.
struct ApiError {
    status: StatusCode,
    sentence: String,
}

impl ApiError {
    fn not_found(sentence: impl Into<String>) -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            sentence: sentence.into(),
        }
    }

    fn unprocessable(sentence: impl Into<String>) -> Self {
        Self {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            sentence: sentence.into(),
        }
    }

    fn bad_request(rejection: impl std::fmt::Display) -> Self {
        let sentence = format!("the request is not understood: {rejection}");
        Self {
            status: StatusCode::BAD_REQUEST,
            sentence,
        }
    }
}

impl From<HostError> for ApiError {
    fn from(error: HostError) -> Self {
        let status = match error {
            HostError::Spec(_) | HostError::NoSuchHost(_) | HostError::Refused(_) => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self {
            status,
            sentence: error.to_string(),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (
            self.status,
            Json(Problem {
                error: self.sentence,
            }),
        )
            .into_response()
    }
}
