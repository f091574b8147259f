-- One value per stay, window and feature.

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

CREATE TABLE window_values AS
SELECT icustay_id, window_index, feature, median(value) AS value
FROM clean JOIN features USING (feature)
WHERE summary = 'median'
GROUP BY ALL
UNION ALL
-- Of several values at the last moment, the highest: any choice, but always the same.
SELECT icustay_id, window_index, feature, max_by(value, (charttime, value))
FROM clean JOIN features USING (feature)
WHERE summary = 'last'
GROUP BY ALL
UNION ALL
-- Irrigant that has not come out yet would make the volume negative: unknown then.
SELECT icustay_id, window_index, feature, sum(value) / window_hours()
FROM clean JOIN features USING (feature)
WHERE summary = 'hourly'
GROUP BY ALL
HAVING sum(value) >= 0;
