-- Every count of the report: a topic, what is counted, and how many.
CREATE TABLE report AS
SELECT 'stays' AS topic, coalesce(excluded, 'kept') AS name, count(*) AS n
FROM stays GROUP BY ALL
UNION ALL
SELECT 'windows', coalesce(excluded, 'kept'), count(*) FROM all_windows GROUP BY ALL
UNION ALL
SELECT feature, coalesce(fault, 'kept'), count(*)
FROM measurements GROUP BY ALL
UNION ALL
SELECT 'missing', f.feature, count(*) - count(c.value)
FROM windows AS w
CROSS JOIN features AS f
LEFT JOIN carried AS c USING (icustay_id, window_index, feature)
GROUP BY ALL
UNION ALL
SELECT 'rows', unnest(['act', 'below 65', 'below 65, act', 'act, treated already']),
    unnest([
        count(*) FILTER (action = 'act'),
        count(*) FILTER (mean_bp < 65),
        count(*) FILTER (mean_bp < 65 AND action = 'act'),
        count(*) FILTER (action = 'act' AND t.icustay_id IS NOT NULL)
    ])
FROM windows AS w
LEFT JOIN (SELECT DISTINCT icustay_id, window_index FROM treated) AS t
    USING (icustay_id, window_index)
UNION ALL
SELECT 'urine', 'more irrigant in than out', count(*)
FROM (
    SELECT icustay_id, window_index
    FROM clean
    WHERE feature = 'urine'
    GROUP BY ALL
    HAVING sum(value) < 0
)
UNION ALL
SELECT 'rows', 'patients', count(DISTINCT subject_id) FROM windows
UNION ALL
SELECT 'rows', 'stays', count(DISTINCT icustay_id) FROM windows;
