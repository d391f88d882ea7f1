/**
 * `DELETE /localVolumes/NAME`: removes the directory of a local-path volume, wherever below the configured root it is
 * called `NAME_...`. Idempotent; whoever may call it can remove nothing else. Upstream has no such route.
 */
import { localPathPrefix } from '../../component-helpers/local-path.ts';
import type { HttpRequest, HttpResponse } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';
import { textResponse } from './text-response.ts';

export interface LocalVolumesDeps {
  readonly files: Platform['files'];
  /** Where the directories are. */
  readonly root: string;
}

/** A container of a pod that was deleted by force may still run, and its volume be deleted. */
const CONTAINERS_MAY_CHANGE_IT = { mayChange: true };

/** Answers 200 once nothing of the volume is left. */
export async function serveLocalVolumes(
  { files, root }: LocalVolumesDeps,
  request: HttpRequest,
  parts: readonly string[],
): Promise<HttpResponse> {
  if (request.method !== 'DELETE') return textResponse(405, 'Method Not Allowed\n');
  const [name = ''] = parts;
  // As volumes are named: no underscore, so that the prefix is that of one volume, and no slash.
  if (parts.length !== 1 || !/^[a-z0-9][-a-z0-9.]*$/.test(name)) return textResponse(400, 'invalid volume name\n');
  const children = (await files.exists(root)) ? await files.readDir(root) : [];
  for (const child of children)
    if (child.startsWith(localPathPrefix(name))) await files.remove(`${root}/${child}`, CONTAINERS_MAY_CHANGE_IT);
  return textResponse(200, 'ok');
}
