//! How a command ends when it does not succeed.

use std::io;
use std::process::ExitCode;

use softib_host::HostError;

use crate::lab::LabError;
use crate::text::note;

/// Why a command did not succeed, by exit status.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Wrong usage: a lab file with a mistake, a name that is not in the lab. Status 2.
    Usage(String),
    /// It failed. Status 1.
    Failed(anyhow::Error),
    /// A program ended with this status, and so does softib.
    Status(u8),
    /// Interrupted; what was started has been taken down. Status 130, as of a program that SIGINT ended.
    Interrupted,
}

/// What a command returns.
pub(crate) type Outcome = Result<(), Failure>;

impl Failure {
    /// Says what went wrong, and gives the exit status.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::Usage(sentence) => {
                note(format_args!("error: {sentence}"));
                ExitCode::from(2)
            }
            Self::Failed(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
            Self::Failed(error) => {
                note(format_args!("error: {error:#}"));
                ExitCode::FAILURE
            }
            Self::Status(status) => ExitCode::from(status),
            Self::Interrupted => ExitCode::from(130),
        }
    }
}

/// Whoever read the output has seen enough: `softib show fabric | head`.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    })
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        match error {
            HostError::BadLabName(_) | HostError::NoSuchHost(_) | HostError::Spec(_) => {
                Self::Usage(error.to_string())
            }
            other => Self::Failed(other.into()),
        }
    }
}
