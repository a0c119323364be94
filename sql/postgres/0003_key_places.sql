-- Whether a user may have one more personal key. Counted under a lock that lasts until the asking statement is
-- through, so that requests at once cannot pass the bound together.
CREATE FUNCTION has_key_place(owner_id integer, keys_max integer) RETURNS boolean LANGUAGE plpgsql VOLATILE AS
$$
BEGIN
    PERFORM FROM users WHERE id = owner_id FOR UPDATE;
    RETURN (SELECT count(*) FROM personal_api_keys WHERE user_id = owner_id) < keys_max;
END
$$;
