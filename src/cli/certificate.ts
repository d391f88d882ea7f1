/** `keelson certificate check|rotate`: when the certificates of a data directory end, and new ones for the next start. */
import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import type { CertificateRow } from '../cluster/certificates/certificate-table.ts';
import type { CertificateService } from '../cluster/certificates/rotate-certificates.ts';
import { requestControl } from '../cluster/instance/control-client.ts';
import { dataDirOption } from './cluster-options.ts';
import { columns } from './columns.ts';
import { UserError } from './usage-error.ts';

export function certificateCommand(): Command {
  return new Command('certificate')
    .description('when the certificates of a cluster end, and new ones')
    .addCommand(checkCommand())
    .addCommand(rotateCommand());
}

function checkCommand(): Command {
  return new Command('check')
    .description('show every certificate and authority with its end; the exit code is 1 where one is over or broken')
    .addOption(dataDirOption())
    .addOption(new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text'))
    .action(async (raw: { readonly dataDir: string; readonly output: string }) => {
      const dir = `${resolve(raw.dataDir)}/pki`;
      const { certificateRows, isBroken } = await import('../cluster/certificates/certificate-table.ts');
      const { readCertificates } = await import('../cluster/doctor/read-certificates.ts');
      const { createNodeClock } = await import('../platform/node/clock.ts');
      const files = await readCertificates(await certificateDeps(), resolve(raw.dataDir));
      if (files.length === 0) throw new UserError(`there are no certificates in ${dir}`);
      const rows = certificateRows(files, dir, createNodeClock().nowMs());
      process.stdout.write(raw.output === 'json' ? `${JSON.stringify({ items: rows }, undefined, 2)}\n` : table(rows));
      if (rows.some(isBroken)) process.exitCode = 1;
    });
}

function rotateCommand(): Command {
  return new Command('rotate')
    .description('let the next start make certificates anew; authorities stay')
    .addOption(dataDirOption())
    .option('-s, --service <names>', 'admin, api-server, auth-proxy, etcd, kubelet, separated by commas (default: all)')
    .action(async (raw: { readonly dataDir: string; readonly service?: string }) => {
      const { rotateCertificates } = await import('../cluster/certificates/rotate-certificates.ts');
      const dataDir = resolve(raw.dataDir);
      const services = await parseServices(raw.service);
      const { files } = await certificateDeps();
      const renewed = await rotateCertificates(files, `${dataDir}/pki`, services);
      if (renewed.length === 0) process.stdout.write('nothing to make anew: the next start does that already\n');
      for (const name of renewed) process.stdout.write(`the next start makes ${name} anew\n`);
      const running = (await requestControl(dataDir, 'pid')) as { pid?: number } | undefined;
      if (running !== undefined)
        process.stdout.write(`keelson runs (pid ${running.pid}): restart it to take them; pods go on\n`);
    });
}

async function parseServices(text: string | undefined): Promise<readonly CertificateService[]> {
  const { CERTIFICATE_SERVICES } = await import('../cluster/certificates/rotate-certificates.ts');
  if (text === undefined) return CERTIFICATE_SERVICES;
  return text.split(',').map((name) => {
    const service = CERTIFICATE_SERVICES.find((each) => each === name);
    if (service === undefined)
      throw new UserError(`--service: ${name} is none of ${CERTIFICATE_SERVICES.join(', ')}`, 2);
    return service;
  });
}

async function certificateDeps() {
  const { createNodeFiles } = await import('../platform/node/files.ts');
  const { createNodeCrypto } = await import('../platform/node/crypto.ts');
  return { files: createNodeFiles(), crypto: createNodeCrypto() };
}

function table(rows: readonly CertificateRow[]): string {
  const cells = rows.map(({ file, subject, type, expires = '', residualDays, status, message }) => [
    file,
    subject,
    type,
    expires,
    residualDays === undefined ? '' : `${residualDays}d`,
    message === undefined ? status : `${status} (${message})`,
  ]);
  return columns([['FILE', 'SUBJECT', 'TYPE', 'EXPIRES', 'RESIDUAL', 'STATUS'], ...cells]);
}
