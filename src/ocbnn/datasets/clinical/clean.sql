-- Measurements without a fault, and the table that will hold one value per window.

-- A coma score exists where its three parts were charted together.
CREATE VIEW scores AS
SELECT icustay_id, window_index, charttime, feature, sum(value) AS value
FROM (
    SELECT icustay_id, window_index, charttime, feature, part, max(value) AS value
    FROM measurements
    WHERE fault IS NULL AND part IS NOT NULL
    GROUP BY ALL
)
GROUP BY ALL
HAVING count(*) = 3;

CREATE VIEW clean AS
SELECT icustay_id, window_index, charttime, feature, value
FROM measurements
WHERE fault IS NULL AND part IS NULL
UNION ALL
SELECT icustay_id, window_index, charttime, feature, value FROM scores;

CREATE TABLE window_values (
    icustay_id BIGINT, window_index INTEGER, feature VARCHAR, value DOUBLE
);
