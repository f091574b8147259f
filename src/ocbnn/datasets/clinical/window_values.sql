-- One value per stay, window and feature, for one batch of stays: medians are held in
-- memory until their window is complete, so all stays at once would not fit.
INSERT INTO window_values
WITH batch AS (
    SELECT * FROM clean JOIN features USING (feature)
    WHERE icustay_id % $batches = $batch
)
SELECT icustay_id, window_index, feature, median(value)
FROM batch
WHERE summary = 'median'
GROUP BY ALL
UNION ALL
-- Of several values at the last moment, the highest: any choice, but always the same.
SELECT icustay_id, window_index, feature, max_by(value, (charttime, value))
FROM batch
WHERE summary = 'last'
GROUP BY ALL
UNION ALL
-- Irrigant that has not come out yet would make the volume negative: unknown then.
SELECT icustay_id, window_index, feature, sum(value) / window_hours()
FROM batch
WHERE summary = 'hourly'
GROUP BY ALL
HAVING sum(value) >= 0;
