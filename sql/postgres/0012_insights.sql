-- Older servers: go on.
-- What PostHog's insights say of themselves beside their query: whether one is saved, which every insight here is unless
-- its maker says otherwise, and the place in an order of its maker's own.

ALTER TABLE insights ADD COLUMN saved boolean NOT NULL DEFAULT true;
ALTER TABLE insights ADD COLUMN "order" integer;
