/**
 * `/keelson/v1/simulation/replay-file`: POST repeats the run of a scenario's file beside the simulation, GET returns its
 * progress, DELETE ends it; POST to `…/link` returns a link to its console on a separate port. See docs/console.md.
 */
import { badRequest, conflict } from '../../api/status-error.ts';
import type { ApiResponse } from '../../api/transport.ts';
import type { NonResourceRoute } from '../../apiserver/non-resource-routes.ts';
import type { RequestScope } from '../../apiserver/request-scope.ts';
import { objectResponse } from '../../apiserver/responses.ts';
import { SIMULATION_PATH } from './simulation-route.ts';

const MAX_FILE_BYTES = 1024 * 1024;
const RESOURCE = { group: '', resource: 'replay-file' };

/** The state of the open file. */
export interface ReplayFileState {
  readonly state: 'None' | 'Running' | 'Open' | 'Refused';
  /** The scenario's name, once the file has been parsed. */
  readonly name?: string | undefined;
  /** The failure of the run; absent when it passed, or is still running. */
  readonly failure?: string | undefined;
  /** The reason why the file cannot be opened. */
  readonly message?: string | undefined;
}

/** A link to the console of the run that signs in once. The host is that of the simulation. */
export interface ReplayFileLink {
  readonly port: number;
  readonly path: string;
}

/** Repeats runs in another process, one at a time. */
export interface ReplayFiles {
  readonly current: ReplayFileState;
  /** Ends the open run and starts with this file. */
  open(text: string): Promise<void>;
  /** Undefined while no run is open. */
  link(): Promise<ReplayFileLink | undefined>;
  close(): Promise<void>;
}

export function replayFileRoutes(files: ReplayFiles): readonly NonResourceRoute[] {
  const path = `${SIMULATION_PATH}/replay-file`;
  return [
    { path, methods: ['GET', 'HEAD', 'POST', 'DELETE'], serve: (scope) => serve(files, scope) },
    { path: `${path}/link`, methods: ['POST'], serve: ({ request }) => link(files, request) },
  ];
}

async function serve(files: ReplayFiles, { request }: RequestScope): Promise<ApiResponse> {
  if (request.method === 'POST') await files.open(await textOf(request));
  if (request.method === 'DELETE') await files.close();
  return objectResponse(request, { object: { kind: 'ReplayFile', apiVersion: 'keelson/v1', ...files.current } });
}

async function textOf({ body }: RequestScope['request']): Promise<string> {
  const text = body.kind === 'bytes' ? Buffer.from(await body.read(MAX_FILE_BYTES)).toString() : '';
  if (text.trim() === '') throw badRequest('the body must be the text of a scenario or of a replay file');
  return text;
}

async function link(files: ReplayFiles, request: RequestScope['request']): Promise<ApiResponse> {
  const found = await files.link();
  if (found === undefined) throw conflict(RESOURCE, '', 'no run is open');
  const object = { kind: 'ReplayFileLink', apiVersion: 'keelson/v1', ...found };
  return objectResponse(request, { status: 201, object, headers: { 'cache-control': 'no-store' } });
}
