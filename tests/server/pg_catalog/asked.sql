-- In the manner of tools that cannot be run here, and of people.
SELECT * FROM information_schema.tables WHERE table_schema = 'none';
SELECT table_name, column_name FROM information_schema.columns
    WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY table_name, ordinal_position;
SELECT * FROM (SELECT n.nspname, c.relname, a.attname, a.atttypid, a.attnotnull OR (t.typtype = 'd' AND t.typnotnull)
    AS required, a.atttypmod, a.attlen, row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum) AS place,
    nullif(a.attidentity, '') AS identity, d.description, t.typbasetype, t.typtype
    FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON (c.relnamespace = n.oid)
    JOIN pg_catalog.pg_attribute a ON (a.attrelid = c.oid) JOIN pg_catalog.pg_type t ON (a.atttypid = t.oid)
    LEFT JOIN pg_catalog.pg_description d ON (c.oid = d.objoid AND a.attnum = d.objsubid)
    WHERE c.relkind IN ('r', 'p', 'v') AND a.attnum > 0 AND NOT a.attisdropped AND n.nspname LIKE 'publi_') x
    WHERE attname LIKE '%' ORDER BY nspname, relname, place;
SELECT c.relname, CASE n.nspname ~ '^pg_' OR n.nspname = 'information_schema'
    WHEN true THEN CASE WHEN n.nspname = 'pg_catalog' THEN 'SYSTEM' ELSE 'OTHER' END WHEN false THEN 'TABLE' END
    FROM pg_class c, pg_namespace n WHERE n.oid = c.relnamespace AND c.relkind IN ('r', 'v');
SELECT nspname FROM pg_catalog.pg_namespace
    WHERE nspname <> 'pg_toast' AND (nspname !~ '^pg_temp_' OR nspname = (pg_catalog.current_schemas(true))[1]);
SELECT k.relname, (k.keys).n, (k.keys).x FROM (SELECT c.relname,
    information_schema._pg_expandarray(i.indkey) AS keys FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
    WHERE c.relnamespace = 2200) k;
SELECT 'visits'::regclass::oid = {visits}, 'pg_class'::regclass, 1259::regclass::text, 'public.visits'::regclass;
SELECT 'int4'::regtype, 'integer[]'::regtype::oid, 25::regtype::text, 'pg_catalog'::regnamespace::oid,
    to_regtype('nothing'), to_regclass('"Odd Name"')::text, to_regclass('nothing');
SELECT current_user, session_user, current_role, current_catalog, current_schema, current_schemas(true);
SELECT has_table_privilege('visits', 'SELECT'), has_table_privilege('ann', 'visits', 'INSERT');
SELECT has_schema_privilege('public', 'USAGE'), has_schema_privilege('public', 'CREATE');
SELECT has_any_column_privilege(c.oid, 'update') FROM pg_class c WHERE relname = 'visits';
SELECT ARRAY[1, 2], ARRAY['a', NULL], '{x,"y z",NULL}'::text[], (ARRAY[7, 8, 9])[2], (ARRAY[7, 8, 9])[2:3];
SELECT 1, 2147483648, 'a', NULL, true, 1 + 1, 7 / 2, -7 / 2, 7 % 3, 'a' || 'b', '1'::int, 1::text, 'x'::"char";
SELECT 'a%b' LIKE 'a\%b', 'axb' LIKE 'a\%b', 'a_b' LIKE 'a!_b' ESCAPE '!', 'AB' ILIKE 'a_', 'ab' NOT LIKE 'a%';
SELECT 'abc' ~ 'b', 'abc' !~ '^b', 'ABC' ~* 'b', 'abc' !~* 'B', 'abc' OPERATOR(pg_catalog.~) '^a' COLLATE "C";
SELECT 1 = ANY('{1,2}'), 3 = ANY(ARRAY[1, 2]), 3 <> ALL(ARRAY[1, 2]), 1 IN (SELECT 1), 'r' = ANY('{r,v}'::"char"[]);
SELECT x, y FROM (VALUES (1, 'a'), (2, 'b')) AS v(x, y) ORDER BY x DESC NULLS LAST LIMIT 1 OFFSET 1;
SELECT s, s * 2 AS double FROM generate_series(1, 3) s ORDER BY s;
SELECT u.item, u.place FROM unnest(ARRAY['b', 'a']) WITH ORDINALITY AS u(item, place) ORDER BY 2;
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 4) SELECT sum(n), count(*), max(n) FROM r;
SELECT relkind, count(*) FILTER (WHERE relnatts > 3) FROM pg_class WHERE relnamespace = 2200 GROUP BY relkind;
SELECT DISTINCT ON (relkind) relkind, relname FROM pg_class WHERE relnamespace = 2200 ORDER BY relkind, relname;
SELECT string_agg(relname, ',' ORDER BY relname), array_agg(relname ORDER BY oid) FROM pg_class WHERE relnamespace = 2200;
SELECT c.* FROM pg_namespace c WHERE false;
SELECT * FROM pg_class JOIN pg_namespace USING (oid) LIMIT 0;
SELECT coalesce(NULL, relname, 'x'), greatest(1, 2), nullif(relname, 'a') FROM pg_class WHERE oid = {wards};
SELECT CASE WHEN relkind = 'r' THEN relname ELSE 'none' END, CASE relkind WHEN 'r' THEN 1 END FROM pg_class WHERE oid = {wards};
SELECT format('%I.%I is %s, %L', 'public', 'Odd Name', 1, 'it''s'), quote_ident('Odd Name'), quote_literal('it''s');
SELECT position('b' IN 'abc'), substring('abc' FROM 2 FOR 1), trim(both 'x' FROM 'xax'), split_part('a,b', ',', 2);
SELECT EXISTS (SELECT 1 FROM pg_class WHERE relname = 'visits'), (SELECT relname FROM pg_class WHERE oid = {visits});
SELECT obj_description({visits}), obj_description({visits}, 'pg_class'), col_description({visits}, 1);
SELECT c.oid::regclass FROM pg_class c WHERE c.relnamespace = 2200 ORDER BY c.oid::regclass::text;
SELECT tableoid::regclass, xmin IS NOT NULL FROM pg_class WHERE oid = {visits};
SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace UNION SELECT 'x' ORDER BY 1;
SELECT a.attname FROM pg_attribute a LEFT JOIN (pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace) ON c.oid = a.attrelid WHERE n.nspname = 'public' AND a.attnum > 0 ORDER BY c.relname, a.attnum;
SELECT t.typname, t.typinput, t.typelem::regtype FROM pg_type t WHERE t.typname IN ('text', '_text', 'int2vector');
SELECT proargtypes, prorettype::regtype FROM pg_proc WHERE proname = 'textin';
SELECT pg_get_function_arguments(oid), pg_get_function_result(oid) FROM pg_proc WHERE proname = 'array_in';
SELECT format_type(1043, 14), format_type(1700, 655366), format_type(1114, 3), format_type(0, NULL), format_type(1, -1);
SELECT array_to_string(ARRAY['a', NULL], ','), array_to_string(ARRAY['a', NULL], ',', '*'), array_upper(ARRAY[5, 6], 1);
SELECT schemaname, tablename, tableowner, hasindexes FROM pg_tables WHERE schemaname = 'public';
SELECT relname, n_live_tup, n_dead_tup, seq_tup_read FROM pg_stat_user_tables;
SELECT relname, reltuples, relpages, relallvisible FROM pg_class WHERE relnamespace = 2200;
SELECT usename, usesysid, usesuper FROM pg_user ORDER BY usesysid;
SELECT name, setting FROM pg_settings WHERE name IN ('max_index_keys', 'standard_conforming_strings');
SELECT * FROM pg_get_keywords();
SELECT string_agg(word, ',' ORDER BY word) FROM pg_catalog.pg_get_keywords() WHERE word <> ALL ('{a,abs,absolute,select}'::text[]);
SELECT '"visits"'::regclass, '"public"."visits"'::regclass, 'public."visits"'::regclass::oid = {visits}, to_regclass('"visits"') = {visits};
SELECT quote_ident(relname)::regclass, ('"' || relname || '"')::regclass FROM pg_class WHERE oid = {visits};
SELECT '"char"'::regtype, '"text"'::regtype;
SELECT extract(epoch FROM TIMESTAMP '2024-01-01 00:00:00.5'), extract(year FROM DATE '2024-02-29'), extract(second FROM TIMESTAMP '2024-01-01 00:00:01.25');
SELECT extract(epoch FROM '2024-02-01T00:00:00Z'::timestamptz), extract(epoch FROM now()) > 1700000000, date_part('epoch', TIMESTAMP '2024-01-01');
SELECT date_trunc('month', '2024-02-29T12:00:00Z'::timestamptz)::text, date_trunc('day', TIMESTAMP '2024-02-29 12:00:00');
SELECT regexp_split_to_array('a, b,c', ',\s*'), (regexp_split_to_array('a b  c', '\s+'))[2], array_length(regexp_split_to_array('a,b', ','), 1);
SELECT relname AS select, relkind AS "from", 1 AS update FROM pg_class AS x WHERE x.oid = {visits};
SELECT s.order, s.limit FROM (SELECT 1 AS order, 2 AS limit) s;
