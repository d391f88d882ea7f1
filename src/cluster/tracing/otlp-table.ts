/** The messages of OTLP's trace service that are sent and read. Upstream: opentelemetry-proto v1. */
import type { ProtobufTable } from '../../grpc/protobuf-table.ts';

const TRACE = '.opentelemetry.proto.trace.v1';
const COMMON = '.opentelemetry.proto.common.v1';

const collector: ProtobufTable = {
  package: 'opentelemetry.proto.collector.trace.v1',
  enums: {},
  messages: {
    ExportTraceServiceRequest: `resource_spans:1:[]${TRACE}.ResourceSpans`,
    ExportTraceServiceResponse: 'partial_success:1:ExportTracePartialSuccess',
    ExportTracePartialSuccess: 'rejected_spans:1:int64 error_message:2:string',
  },
  services: { TraceService: { Export: 'ExportTraceServiceRequest ExportTraceServiceResponse' } },
};

const trace: ProtobufTable = {
  package: 'opentelemetry.proto.trace.v1',
  enums: {
    SpanKind: 'SPAN_KIND_UNSPECIFIED SPAN_KIND_INTERNAL SPAN_KIND_SERVER SPAN_KIND_CLIENT',
    StatusCode: 'STATUS_CODE_UNSET STATUS_CODE_OK STATUS_CODE_ERROR',
  },
  messages: {
    ResourceSpans: 'resource:1:.opentelemetry.proto.resource.v1.Resource scope_spans:2:[]ScopeSpans',
    ScopeSpans: `scope:1:${COMMON}.InstrumentationScope spans:2:[]Span`,
    Span: [
      'trace_id:1:bytes span_id:2:bytes parent_span_id:4:bytes name:5:string kind:6:SpanKind',
      'start_time_unix_nano:7:fixed64:ns end_time_unix_nano:8:fixed64:ns',
      `attributes:9:[]${COMMON}.KeyValue events:11:[]Event links:13:[]Link status:15:Status flags:16:fixed32`,
    ].join(' '),
    Event: 'time_unix_nano:1:fixed64:ns name:2:string',
    Link: 'trace_id:1:bytes span_id:2:bytes flags:6:fixed32',
    Status: 'message:2:string code:3:StatusCode',
  },
  services: {},
};

const common: ProtobufTable = {
  package: 'opentelemetry.proto.common.v1',
  enums: {},
  messages: {
    AnyValue: 'string_value:1:string int_value:3:int64',
    KeyValue: 'key:1:string value:2:AnyValue',
    InstrumentationScope: 'name:1:string version:2:string',
  },
  services: {},
};

const resource: ProtobufTable = {
  package: 'opentelemetry.proto.resource.v1',
  enums: {},
  messages: { Resource: `attributes:1:[]${COMMON}.KeyValue` },
  services: {},
};

export const otlpTables: readonly ProtobufTable[] = [collector, trace, common, resource];
