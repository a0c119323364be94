// Azure's blob storage, written by ClickHouse's azureBlobStorage(). The account's key travels as a parameter, never in
// the text of a statement.

import { limits } from "../core/limits.ts";
import type { AzureBlobConfig } from "./destination_config.ts";
import { type ObjectStore, withNumber } from "./objects.ts";

export function azureStore(config: AzureBlobConfig): ObjectStore {
  const { account_name, account_key, container_name } = config;
  return {
    secrets: [account_key],
    settings: {
      azure_truncate_on_insert: 1,
      azure_sdk_max_retries: limits.storeRequestAttemptsMax,
      azure_max_unexpected_write_error_retries: limits.storeRequestAttemptsMax,
      azure_max_inflight_parts_for_one_file: limits.storePartsAtOnceMax,
    },
    file: (key, format, structure, compression) => ({
      text:
        "azureBlobStorage({url:String}, {container:String}, {key:String}, {account:String}, {account_key:String}, " +
        "{format:String}, {compression:String}, {structure:String})",
      params: {
        url: azureAddress(config),
        container: container_name,
        key: withNumber(key),
        account: account_name,
        account_key,
        format,
        structure,
        compression,
      },
    }),
  };
}

/** The account's address. */
export function azureAddress({ account_name, endpoint_url }: AzureBlobConfig): string {
  return endpoint_url?.replace(/\/+$/, "") ?? `https://${account_name}.blob.core.windows.net`;
}
