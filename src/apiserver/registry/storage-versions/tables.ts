/** Columns of storage versions and their migrations in `kubectl get`. Upstream: printers/internalversion. */
import type { StorageVersion } from '../../../api/gen/apiserverinternal-v1alpha1.ts';
import type { StorageVersionMigration } from '../../../api/gen/storagemigration-v1beta1.ts';
import { ageCell, ageColumn, column, printerOf } from '../printing.ts';
import type { Printer } from '../resource-definition.ts';

/** How many servers a cell names. */
const SHOWN_SERVERS = 3;

function serversCell(
  versions: readonly { readonly apiServerID?: string; readonly encodingVersion?: string }[],
): string {
  const texts = versions.map(({ apiServerID = '', encodingVersion = '' }) => `${apiServerID}=${encodingVersion}`);
  const shown = texts.slice(0, SHOWN_SERVERS).join(',');
  return texts.length > SHOWN_SERVERS ? `${shown} + ${texts.length - SHOWN_SERVERS} more...` : shown;
}

export const storageVersionPrinter: Printer<StorageVersion> = printerOf(
  [column('CommonEncodingVersion'), column('StorageVersions'), ageColumn],
  (version, nowMs) => [
    version.status?.commonEncodingVersion ?? '<unset>',
    serversCell(version.status?.storageVersions ?? []),
    ageCell(version, nowMs),
  ],
);

const STATES = new Set(['Running', 'Failed', 'Succeeded']);

export const storageVersionMigrationPrinter: Printer<StorageVersionMigration> = {
  columns: [{ ...column('Name'), format: '' }, column('Resource'), column('Status')],
  cells: ({ metadata, spec, status }) => {
    const { group = '', resource = '' } = spec?.resource ?? {};
    const state = (status?.conditions ?? []).findLast(({ type, status: is }) => is === 'True' && STATES.has(type));
    return [metadata.name ?? '', group === '' ? resource : `${resource}.${group}`, state?.type ?? 'Unknown'];
  },
};
