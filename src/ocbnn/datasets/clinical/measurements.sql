-- One pass over the large tables: what the items list, placed in stays and windows.
-- A measurement belongs to the stay of its patient during which it was taken, or which
-- it shortly preceded. What is wrong with it is kept as its fault, so that nothing is
-- dropped uncounted.
CREATE TABLE measurements AS
WITH readings AS (
    SELECT subject_id, itemid, charttime, valuenum AS value, error FROM chartevents
    UNION ALL
    SELECT subject_id, itemid, charttime, valuenum, NULL FROM labevents
    UNION ALL
    SELECT subject_id, itemid, charttime, value, iserror FROM outputevents
)
SELECT
    s.icustay_id,
    floor(windows_between(s.intime, r.charttime))::INTEGER AS window_index,
    r.charttime,
    i.feature,
    i.part,
    r.value * i.factor AS value,
    CASE
        WHEN r.error = 1 THEN 'marked as error'
        WHEN r.value IS NULL OR NOT isfinite(r.value) THEN 'no number'
        WHEN r.value < i.low THEN 'too low'
        WHEN r.value > i.high THEN 'too high'
    END AS fault
FROM readings AS r
JOIN items AS i USING (itemid)
JOIN features AS f USING (feature)
JOIN kept_stays AS s
    ON r.subject_id = s.subject_id
    AND windows_between(s.intime, r.charttime) >= -f.before_hours / window_hours()
    AND windows_between(s.intime, r.charttime) < s.windows;
