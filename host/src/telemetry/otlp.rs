//! Spans and numbers as the OpenTelemetry protocol says them: protobuf, to be sent over HTTP.

use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics,
    Sum, metric, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message as _;

use super::totals::{Family, Histogram, Point, Unit, Value};

/// The path that spans are sent to.
pub(super) const TRACES: &str = "/v1/traces";

/// The path that numbers are sent to.
pub(super) const METRICS: &str = "/v1/metrics";

/// Who tells: this program, and this process of it.
pub(super) struct Source {
    /// Tells processes of one machine apart, whose numbers would else be taken for one's.
    pub(super) instance: String,
    /// Since when numbers count, as time since 1970.
    pub(super) since: Duration,
}

impl Source {
    /// A message with these spans.
    pub(super) fn traces(&self, spans: Vec<Span>) -> Vec<u8> {
        let scope_spans = vec![ScopeSpans { scope: Some(scope()), spans, ..ScopeSpans::default() }];
        let resource_spans =
            vec![ResourceSpans { resource: Some(self.resource()), scope_spans, ..ResourceSpans::default() }];
        ExportTraceServiceRequest { resource_spans }.encode_to_vec()
    }

    /// A message with these numbers, as they were `now`.
    pub(super) fn metrics(&self, families: Vec<Family>, now: Duration) -> Vec<u8> {
        let filled = families.into_iter().filter(|family| !family.points.is_empty());
        let metrics = filled.map(|family| self.metric(family, now)).collect();
        let scope_metrics = vec![ScopeMetrics { scope: Some(scope()), metrics, ..ScopeMetrics::default() }];
        let resource_metrics =
            vec![ResourceMetrics { resource: Some(self.resource()), scope_metrics, ..ResourceMetrics::default() }];
        ExportMetricsServiceRequest { resource_metrics }.encode_to_vec()
    }

    fn resource(&self) -> Resource {
        let attributes = vec![
            word("service.name", "remit"),
            word("service.version", env!("CARGO_PKG_VERSION")),
            word("service.instance.id", &self.instance),
        ];
        Resource { attributes, ..Resource::default() }
    }

    fn metric(&self, family: Family, now: Duration) -> Metric {
        let (mut counts, mut levels, mut spreads) = (Vec::new(), Vec::new(), Vec::new());
        for Point { labels, value } in family.points {
            let attributes = labels.iter().map(|(label, value)| word(&format!("remit.{label}"), value)).collect();
            match value {
                Value::Count(number) => counts.push(self.number(attributes, number, now)),
                Value::Level(number) => levels.push(self.number(attributes, number, now)),
                Value::Spread(spread) => spreads.push(self.spread(attributes, &spread, now)),
            }
        }
        let cumulative = AggregationTemporality::Cumulative.into();
        let data = if !spreads.is_empty() {
            metric::Data::Histogram(opentelemetry_proto::tonic::metrics::v1::Histogram {
                data_points: spreads,
                aggregation_temporality: cumulative,
            })
        } else if levels.is_empty() {
            metric::Data::Sum(Sum { data_points: counts, aggregation_temporality: cumulative, is_monotonic: true })
        } else {
            metric::Data::Gauge(Gauge { data_points: levels })
        };
        let unit = match family.unit {
            Unit::Things => "1",
            Unit::Seconds => "s",
            Unit::Bytes => "By",
        };
        Metric {
            name: family.name.to_owned(),
            description: family.help.to_owned(),
            unit: unit.to_owned(),
            data: Some(data),
            ..Metric::default()
        }
    }

    fn number(&self, attributes: Vec<KeyValue>, number: u64, now: Duration) -> NumberDataPoint {
        NumberDataPoint {
            attributes,
            start_time_unix_nano: nanoseconds(self.since),
            time_unix_nano: nanoseconds(now),
            value: Some(number_data_point::Value::AsInt(signed(number))),
            ..NumberDataPoint::default()
        }
    }

    fn spread(&self, attributes: Vec<KeyValue>, spread: &Histogram, now: Duration) -> HistogramDataPoint {
        HistogramDataPoint {
            attributes,
            start_time_unix_nano: nanoseconds(self.since),
            time_unix_nano: nanoseconds(now),
            count: spread.count(),
            sum: Some(spread.sum),
            bucket_counts: spread.counts.clone(),
            explicit_bounds: spread.bounds.to_vec(),
            ..HistogramDataPoint::default()
        }
    }
}

/// An attribute with a word.
pub(super) fn word(key: &str, value: &str) -> KeyValue {
    attribute(key, any_value::Value::StringValue(value.to_owned()))
}

/// An attribute with a number.
pub(super) fn integer(key: &str, value: u64) -> KeyValue {
    attribute(key, any_value::Value::IntValue(signed(value)))
}

/// An attribute that is or is not.
pub(super) fn flag(key: &str, value: bool) -> KeyValue {
    attribute(key, any_value::Value::BoolValue(value))
}

fn attribute(key: &str, value: any_value::Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

fn scope() -> InstrumentationScope {
    InstrumentationScope { name: "remit".to_owned(), ..InstrumentationScope::default() }
}

/// The protocol has no larger integers.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The protocol counts from 1970 in nanoseconds.
fn nanoseconds(since_epoch: Duration) -> u64 {
    u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX)
}
