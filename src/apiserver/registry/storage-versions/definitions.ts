/** internal.apiserver.k8s.io and storagemigration.k8s.io. Upstream: registry/apiserverinternal, registry/storagemigration. */
import type { StorageVersion } from '../../../api/gen/apiserverinternal-v1alpha1.ts';
import { StorageVersionMigrations, StorageVersions } from '../../../api/gen/resources.ts';
import type { StorageVersionMigration } from '../../../api/gen/storagemigration-v1beta1.ts';
import {
  nameIsStorageVersion,
  validateStorageVersionMigration,
  validateStorageVersionMigrationStatus,
  validateStorageVersionStatus,
} from '../../../api/validation/storage-version.ts';
import { defineResource } from '../define-resource.ts';
import type { KindRules, StatusRules } from '../kind-strategy.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { storageVersionMigrationPrinter, storageVersionPrinter } from './tables.ts';

const versionRules: KindRules<StorageVersion> = {
  emptyStatus: {},
  validateName: nameIsStorageVersion,
  allowUnconditionalUpdate: false,
};

const versionStatusRules: StatusRules<StorageVersion> = {
  keepsMetadata: true,
  validateUpdate: (version, _old, field) => validateStorageVersionStatus(version, field),
};

const migrationRules: KindRules<StorageVersionMigration> = {
  emptyStatus: {},
  validate: validateStorageVersionMigration,
  validateUpdate: (migration, old, field) => validateStorageVersionMigration(migration, field, old),
  allowUnconditionalUpdate: false,
};

const migrationStatusRules: StatusRules<StorageVersionMigration> = {
  keepsMetadata: true,
  validateUpdate: validateStorageVersionMigrationStatus,
};

export const storageVersionDefinitions: readonly ResourceDefinition[] = [
  defineResource(StorageVersions, {
    rules: versionRules,
    statusRules: versionStatusRules,
    printer: storageVersionPrinter,
  }),
  defineResource(StorageVersionMigrations, {
    rules: migrationRules,
    statusRules: migrationStatusRules,
    printer: storageVersionMigrationPrinter,
  }),
];
