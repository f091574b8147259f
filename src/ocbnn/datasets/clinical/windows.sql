-- The table itself: every whole window of a kept stay, with carried values and label.
CREATE TABLE grid AS
SELECT
    subject_id,
    hadm_id,
    icustay_id,
    windows,
    unnest(range(windows))::INTEGER AS window_index
FROM kept_stays;

-- The latest value that is not older than its feature allows.
CREATE TABLE carried AS
SELECT g.icustay_id, g.window_index, g.feature, v.value
FROM (SELECT * FROM grid CROSS JOIN features) AS g
ASOF JOIN window_values AS v
    ON g.icustay_id = v.icustay_id
    AND g.feature = v.feature
    AND g.window_index >= v.window_index
WHERE (g.window_index - v.window_index) * window_hours() <= g.carry_hours;

CREATE TABLE wide AS
SELECT
    icustay_id,
    window_index,
    max(value) FILTER (feature = 'mean_bp') AS mean_bp,
    max(value) FILTER (feature = 'heart_rate') AS heart_rate,
    max(value) FILTER (feature = 'spo2') AS spo2,
    max(value) FILTER (feature = 'gcs') AS gcs,
    max(value) FILTER (feature = 'urine') AS urine,
    max(value) FILTER (feature = 'lactate') AS lactate,
    max(value) FILTER (feature = 'creatinine') AS creatinine,
    max(value) FILTER (feature = 'bilirubin') AS bilirubin,
    max(value) FILTER (feature = 'wbc') AS wbc
FROM carried
GROUP BY ALL;

CREATE TABLE all_windows AS
SELECT
    g.subject_id,
    g.hadm_id,
    g.icustay_id,
    g.window_index,
    g.window_index * window_hours() AS hours,
    w.* EXCLUDE (icustay_id, window_index),
    CASE WHEN t.icustay_id IS NULL THEN 'not' ELSE 'act' END AS action,
    CASE
        WHEN g.window_index = g.windows - 1 THEN 'no next window'
        WHEN w.mean_bp IS NULL THEN 'no mean_bp'
        WHEN w.heart_rate IS NULL THEN 'no heart_rate'
    END AS excluded
FROM grid AS g
LEFT JOIN wide AS w USING (icustay_id, window_index)
LEFT JOIN (SELECT DISTINCT icustay_id, window_index FROM treated) AS t
    ON t.icustay_id = g.icustay_id AND t.window_index = g.window_index + 1;

CREATE VIEW windows AS
SELECT * EXCLUDE (excluded)
FROM all_windows
WHERE excluded IS NULL
ORDER BY icustay_id, window_index;
