/** All option sets of the API server. A new set needs a file, and a line in each of the three places here. */
import { type AdmissionOptions, admissionFlags, parseAdmissionOptions } from './admission-options.ts';
import { type AuditOptions, auditFlags, parseAuditOptions } from './audit-options.ts';
import { type AuthenticationOptions, parseAuthenticationOptions } from './authentication-options.ts';
import { AUTHENTICATION_FLAGS } from './authentication-flags.ts';
import { type AuthorizationOptions, authorizationFlags, parseAuthorizationOptions } from './authorization-options.ts';
import type { Flag, FlagValues } from './flags.ts';
import { type LimitOptions, LIMIT_FLAGS, parseLimitOptions } from './limit-options.ts';
import { parseTracingOptions, TRACING_FLAGS, type TracingOptions } from './tracing-options.ts';
import { type NodePortOptions, NODE_PORT_FLAGS, parseNodePortOptions } from './node-port-options.ts';

/** The checked options; files are read when the server is created. */
export interface ApiServerOptions {
  readonly admission: AdmissionOptions;
  readonly authentication: AuthenticationOptions;
  readonly authorization: AuthorizationOptions;
  readonly audit: AuditOptions;
  readonly limits: LimitOptions;
  readonly nodePorts: NodePortOptions;
  readonly tracing: TracingOptions;
}

/** All flags. */
export const apiServerFlags: readonly Flag[] = [
  ...admissionFlags,
  ...AUTHENTICATION_FLAGS,
  ...authorizationFlags,
  ...auditFlags,
  ...LIMIT_FLAGS,
  ...NODE_PORT_FLAGS,
  ...TRACING_FLAGS,
];

/** Checks the flags and completes them with defaults. Throws `OptionsError`. */
export function parseApiServerOptions(values: FlagValues): ApiServerOptions {
  return {
    admission: parseAdmissionOptions(values),
    authentication: parseAuthenticationOptions(values),
    authorization: parseAuthorizationOptions(values),
    audit: parseAuditOptions(values),
    limits: parseLimitOptions(values),
    nodePorts: parseNodePortOptions(values),
    tracing: parseTracingOptions(values),
  };
}
