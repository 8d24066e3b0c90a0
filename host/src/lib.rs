//! Remit, a capability host for AI agents: the map of the rooms.
//!
//! A call comes in by the agents' door ([`call::Host`]) and goes through [`call`] from top to bottom. What
//! may be called is decided by people at their own door ([`admin::Admin`]).
//!
//! | room | what it decides |
//! |---|---|
//! | [`call`] | the order of the steps of a call |
//! | [`admin`] | what people may do: install, grant, approve, set a secret |
//! | [`app`] | how the rooms are wired |
//! | [`component`] | what a component's bytes say, without running them |
//! | [`manifest`] | what a capability asks for, and whether it may ask so |
//! | [`registry`] | which bytes a name means |
//! | [`review`] | what a reviewer is told of a component |
//! | [`policy`] | what a call may do |
//! | [`tokens`] | whose bearer token one is |
//! | [`shares`] | how much of this host one principal may take |
//! | [`standing`] | what a capability may do at this moment |
//! | [`validate`] | whether a value fits a schema |
//! | [`typed`] | what values of WIT types look like in JSON |
//! | [`runtime`] | how a guest runs, and when it stops |
//! | [`engines`] | what a program can call, and what becomes of its calls |
//! | [`namespaces`] | what a guest can reach |
//! | [`egress`] | whether and how a request leaves this machine |
//! | [`asks`] | what people are asked for when a request is refused |
//! | `confirm` | whether a call needs a person's word, and whether it has it |
//! | [`search`] | what is found when an agent says what it wants to do |
//! | [`secrets`] | where credentials are, and that they come out nowhere |
//! | [`upstreams`] | how an upstream MCP server is reached, and what of it is believed |
//! | [`audit`] | what is remembered of a call |
//! | [`telemetry`] | what the operator's own tools are told of calls |
//! | [`doctor`] | whether a home is in order |
//! | [`store`] | how all this is kept |
//! | `text` | which characters of a publisher's text reach an agent |
//! | [`build`] | how source becomes a capability |
//! | [`versions`] | what another version would have, and how versions are written down |
//! | [`mcp`] | how agents speak with this host |
//! | [`cli`] | how people do |

pub mod admin;
mod answer;
pub mod app;
pub mod asks;
pub mod audit;
pub mod build;
pub mod builtin;
pub mod call;
pub mod canonical;
pub mod cli;
pub mod client;
pub mod clock;
pub mod component;
pub mod config;
mod confirm;
pub mod doctor;
pub mod egress;
pub mod engines;
pub mod error;
pub mod manifest;
pub mod mcp;
pub mod namespaces;
pub mod policy;
pub mod registries;
pub mod registry;
pub mod review;
pub mod runtime;
pub mod scheduler;
pub mod search;
pub mod secrets;
mod shares;
pub mod signing;
mod standing;
pub mod store;
pub mod telemetry;
mod text;
pub mod tokens;
pub mod typed;
pub mod upstreams;
pub mod validate;
pub mod versions;
